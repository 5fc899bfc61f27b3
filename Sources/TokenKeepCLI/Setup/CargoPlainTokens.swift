import TokenKeepTerminal

/// The plain-text tokens in cargo's file `credentials.toml`.
enum CargoPlainTokens {
    /// Returns the registries that have a token in the file, in the order of the file. nil stands for crates.io.
    static func registries(in text: String) -> [String?] {
        var found: [String?] = []
        for setting in TOMLSettings(text).all
        where setting.path.last == "token" && setting.strings.first?.isEmpty == false {
            let isOfRegistry = setting.path.count == 3 && setting.path[0] == "registries"
            guard isOfRegistry || setting.path == ["registry", "token"] else { continue }
            let registry = isOfRegistry ? setting.path[1] : nil
            if !found.contains(registry) { found.append(registry) }
        }
        return found
    }

    /// Returns the commands that move a registry's token: `cargo login` passes the token to the provider in cargo's
    /// settings, and `cargo logout` then removes the token from the file.
    ///
    /// By default, `cargo logout` ends after the first provider that had a token, which would be TokenKeep's.
    /// Therefore, a variable that takes precedence over cargo's settings names only cargo's own provider, which uses
    /// the file.
    ///
    /// cargo refuses a registry's name with a dot or a space. Nothing uses such a token: its lines are shown.
    static func commands(for registry: String?, in path: String) -> String {
        if let registry, !isUsable(registry) {
            return "grep -n -F -e \(ShellWord.quoted(registry)) \(ShellWord.quoted(path))"
        }
        let option = registry.map { " --registry \(ShellWord.quoted($0))" } ?? ""
        let variable = registry.map { "CARGO_REGISTRIES_\(variableName($0))_CREDENTIAL_PROVIDER" }
        return
            "cargo login\(option) && \(variable ?? "CARGO_REGISTRY_CREDENTIAL_PROVIDER")=cargo:token cargo logout\(option)"
    }

    /// Whether cargo accepts the registry's name.
    static func isUsable(_ registry: String) -> Bool {
        guard let first = registry.first, first.isLetter || first == "_" else { return false }
        return registry.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
    }

    /// Returns a registry's name as it occurs in the names of cargo's variables: in upper case, with an underscore in
    /// place of every other character.
    private static func variableName(_ registry: String) -> String {
        String(registry.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
