import TokenKeepCore
import TokenKeepTerminal

/// The check of cargo's credential providers.
struct CargoHelperCheck {
    private static let ours = "cargo-credential-tokenkeep"

    private let folder: String
    private let path: String
    /// Whether only the user and root can write the configuration file, and its directory does not depend on the
    /// working directory.
    private let isTrusted: Bool

    static func findings() -> [Finding] {
        guard let folder = try? CargoSettingsFile.folder() else { return [] }
        let path = CargoSettingsFile.path(folder)
        let file = SmallFile.textAndTrust(path)
        guard ToolPlaces.isOnPath("cargo") || file != nil else { return [] }
        let check = CargoHelperCheck(
            folder: folder, path: path, isTrusted: folder.hasPrefix("/") && file?.isTrusted == true)
        return check.findings(CargoProviders(in: file?.text ?? ""))
    }

    private func findings(_ providers: CargoProviders) -> [Finding] {
        let own = providers.own.map { finding($0.provider, for: $0.registry) }
        guard providers.usesGlobal else { return own }
        // cargo asks the last provider of the list first.
        guard let last = providers.global.last, CargoHelperCheck.isOurs(last) else {
            return [stranger(providers.global)] + own
        }
        return [tried(last, "cargo uses \(name(last)) (\(path))")] + own
    }

    private static func isOurs(_ provider: CargoProviders.Provider) -> Bool {
        provider.program == ours || provider.program.hasSuffix("/\(ours)")
    }

    private func name(_ provider: CargoProviders.Provider) -> String {
        provider.program + (provider.alias.map { " by the alias \($0)" } ?? "")
    }

    /// Makes the note for the case that cargo has no provider, or queries another provider first.
    private func stranger(_ providers: [CargoProviders.Provider]) -> Finding {
        let first = providers.last
        let message =
            if let first, providers.contains(where: CargoHelperCheck.isOurs) {
                "cargo asks \(name(first)) before \(CargoHelperCheck.ours) in \(path)"
            } else {
                "cargo has \(first == nil ? "no provider" : "another provider") in \(path)"
            }
        return .note("helpers", message, because: place(of: first), hint: "tokenkeep setup cargo")
    }

    /// Makes the finding about the provider that the configuration sets for one registry alone.
    private func finding(_ provider: CargoProviders.Provider, for registry: String) -> Finding {
        let message = "cargo uses \(name(provider)) for \(registry) (\(path))"
        guard !CargoHelperCheck.isOurs(provider) else { return tried(provider, message) }
        return .note(
            "helpers", message, because: place(of: provider),
            hint: "grep -n -e credential-provider -e credential-alias \(ShellWord.quoted(path))")
    }

    /// Describes where `cargo login` puts the token with this provider. `provider` is nil if cargo has no provider.
    private func place(of provider: CargoProviders.Provider?) -> String {
        guard let provider, provider.program != "cargo:token" else {
            return "cargo login writes the token into \(folder)/credentials.toml, in plain text."
        }
        return "cargo login gives the token to that provider."
    }

    /// Starts the provider as cargo does. Without a request, the provider writes its protocol versions and ends.
    private func tried(_ provider: CargoProviders.Provider, _ message: String) -> Finding {
        let program = provider.program
        // Never run a program that a file of another user, or a file in the working directory, names.
        guard isTrusted else {
            return .note(
                "helpers", "\(message), which was not tried",
                because: "doctor runs no provider that a relative CARGO_HOME or a file of others names.",
                hint: "ls -l \(ShellWord.quoted(path))")
        }
        let reason = "cargo publish, yank and private registries fail."
        let word = ShellWord.quoted(program)
        guard program.hasPrefix("/") ? ToolPlaces.isProgram(program) : ToolPlaces.isOnPath(program) else {
            return .problem(
                "helpers", "\(message), which is not there", because: reason, hint: "command -v \(word)")
        }
        let answer = AskedProgram.run(program, ["--cargo-plugin"], until: AskedProgram.deadline)
        if case .ended(exitCode: 0, let output) = answer, output.hasPrefix("{\"v\":") { return .ok("helpers", message) }
        if case .absent = answer { return AskedProgram.inRelativeFolder("helpers", message, program) }
        return .problem(
            "helpers", "\(message), and cannot run it", because: reason, hint: "\(word) --version")
    }
}
