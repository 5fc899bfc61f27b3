import TokenKeepCore
import TokenKeepTerminal

/// Checks cargo's credential provider.
enum CargoHelperCheck {
    private static let ours = "cargo-credential-tokenkeep"

    static func findings() -> [Finding] {
        guard let folder = try? CargoSettingsFile.folder() else { return [] }
        let path = CargoSettingsFile.path(folder)
        let file = SmallFile.textAndTrust(path)
        guard ToolPlaces.isOnPath("cargo") || file != nil else { return [] }
        // Ignore the arguments of providers. cargo queries the last provider in the list first.
        let programs = (file.flatMap { CargoProviders(in: $0.text) }?.list ?? []).map { $0.prefix { $0 != " " } }
        guard let word = programs.last, isOurs(word) else {
            return [stranger(programs, path, plainFile: "\(folder)/credentials.toml")]
        }
        // Never run a program that a file of another user, or a file in the working directory, names.
        guard folder.hasPrefix("/"), file?.isTrusted == true else {
            return [
                .note(
                    "helpers", "cargo uses \(word) (\(path)), which was not tried",
                    because: "doctor runs no provider that a relative CARGO_HOME or a file of others names.",
                    hint: "ls -l \(ShellWord.quoted(path))")
            ]
        }
        return [finding(String(word), path)]
    }

    private static func isOurs(_ program: Substring) -> Bool { program == ours || program.hasSuffix("/\(ours)") }

    /// Makes the note for the case that cargo has no provider, or queries another provider first.
    private static func stranger(_ programs: [Substring], _ path: String, plainFile: String) -> Finding {
        let first = programs.last
        let message =
            if let first, programs.contains(where: isOurs) {
                "cargo asks \(first) before \(ours) in \(path)"
            } else {
                "cargo has \(first == nil ? "no provider" : "another provider") in \(path)"
            }
        let isPlain = first == nil || first == "cargo:token"
        return .note(
            "helpers", message,
            because:
                "cargo login \(isPlain ? "writes the token into \(plainFile), in plain text" : "gives the token to that provider").",
            hint: "tokenkeep setup cargo")
    }

    /// Starts the provider as cargo does. Without a request, the provider writes its protocol versions and ends.
    private static func finding(_ program: String, _ path: String) -> Finding {
        let message = "cargo uses \(program) (\(path))"
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
