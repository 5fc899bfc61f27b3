import TokenKeepTerminal

/// The tokens in cargo's own file, `credentials.toml`.
enum CargoPlainTokens {
    /// The registries that have a token in the file, in its order; nil stands for crates.io.
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

    /// The commands that move a registry's token: `cargo login` gives it to the provider that the settings name.
    ///
    /// `cargo logout` ends with the first provider that had a token, which is then ours. The variable, which takes
    /// precedence over the settings of all registries and of this registry, names cargo's own provider alone.
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

    /// The name of a registry in cargo's variables: capital letters, and underscores in place of hyphens and others.
    private static func variableName(_ registry: String) -> String {
        String(registry.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}
