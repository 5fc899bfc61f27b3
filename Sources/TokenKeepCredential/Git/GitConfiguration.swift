import TokenKeepCore
import TokenKeepTerminal

/// Reads settings from git's configuration files, by running git.
enum GitConfiguration {
    /// The maximum time to wait for git, in milliseconds.
    private static let limit: UInt32 = 2_000

    /// Returns the last value of a setting; "true" if the setting has a key without a value; nil if the setting is
    /// absent, or if git does not answer in time.
    ///
    /// - Parameter pattern: a regular expression for the setting's key in lower case.
    static func value(_ pattern: String) -> String? {
        let git = ProgramRun(["git", "config", "--null", "--get-regexp", pattern], searchesPath: true)
        let outcome = try? git.run(input: nil, until: Deadline(milliseconds: limit), showsErrors: false)
        return outcome?.output.withUnsafeBytes { output in
            guard let last = output.split(separator: 0 as UInt8).last else { return nil }
            guard let newline = last.firstIndex(of: UInt8(ascii: "\n")) else { return "true" }
            return String(decoding: last[last.index(after: newline)...], as: UTF8.self)
        }
    }
}
