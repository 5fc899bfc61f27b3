import TokenKeepTerminal

/// Shortens settings of other programs for messages, because a command, its arguments and an address may contain a
/// password.
enum ShownSetting {
    private static let command = "a command for the shell"

    /// Returns a helper's name or path, without its arguments and without the text of a command for the shell.
    static func helper(_ helper: some StringProtocol) -> String {
        let isCommand = helper.hasPrefix("!")
        let words = helper.drop { $0 == "!" }.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard let name = words.first, isName(name) else { return command }
        let shown = words.count > 1 ? "\(name) …" : String(name)
        return isCommand ? "\(command) (\(shown))" : shown
    }

    /// Returns an address without username, password, query and fragment.
    static func address(_ address: String) -> String {
        let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        // Remove everything up to the last `@`, because a password may contain a slash that is not escaped.
        let host = address[start...].lastIndex(of: "@").map { address.index(after: $0) } ?? start
        return String(address[..<start] + address[host...].prefix { $0 != "?" && $0 != "#" })
    }

    private static func isName(_ word: some StringProtocol) -> Bool {
        ShellWord.isPlain(word) && !word.contains { "@:%".contains($0) }
    }
}
