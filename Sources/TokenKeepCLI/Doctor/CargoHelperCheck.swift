import TokenKeepCore
import TokenKeepTerminal

/// The check of cargo's credential provider.
enum CargoHelperCheck {
    private static let ours = "cargo-credential-tokenkeep"

    static func findings() -> [Finding] {
        guard let folder = try? CargoSettingsFile.folder() else { return [] }
        let path = CargoSettingsFile.path(folder)
        let file = SmallFile.textAndTrust(path)
        guard ToolPlaces.isOnPath("cargo") || file != nil else { return [] }
        let list = file.flatMap { providers(in: $0.text) }
        // cargo asks the last provider of the list first.
        let words = (list ?? "").split { "[]\"', \t\n".contains($0) }
        guard let word = words.last(where: { $0 == ours || $0.hasSuffix("/\(ours)") }) else {
            return [
                .note(
                    "helpers", "cargo has \(list == nil ? "no provider" : "another provider") in \(path)",
                    because: "cargo login writes the token into \(folder)/credentials.toml, in plain text.",
                    hint: "tokenkeep setup cargo")
            ]
        }
        // A file of another user, or of the working directory, must not choose the program that runs.
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

    /// The list of providers; nil if the file has none.
    private static func providers(in text: String) -> Substring? {
        let line = SettingsFile.lines(of: text).first {
            $0.drop { $0.isWhitespace }.hasPrefix("global-credential-providers")
        }
        return line.map { text[$0.startIndex...].prefix { $0 != "]" } }
    }

    /// Starts the provider as cargo does. Without a request it tells its versions and ends.
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
