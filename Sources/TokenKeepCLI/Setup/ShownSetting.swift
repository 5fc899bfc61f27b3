import TokenKeepTerminal

/// The parts of other programs' settings that messages show. A command, its arguments and an address may hold a password.
enum ShownSetting {
    private static let command = "a command for the shell"

    /// A helper by its name or path. Arguments are left out, and so is the text of a command for the shell.
    static func helper(_ helper: some StringProtocol) -> String {
        let isCommand = helper.hasPrefix("!")
        let words = helper.drop { $0 == "!" }.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard let name = words.first, isName(name) else { return command }
        let shown = words.count > 1 ? "\(name) …" : String(name)
        return isCommand ? "\(command) (\(shown))" : shown
    }

    /// An address without username, password and query.
    static func address(_ address: String) -> String {
        let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        // A password may have a slash that is not escaped: everything up to the last sign is left out.
        let host = address[start...].lastIndex(of: "@").map { address.index(after: $0) } ?? start
        return String(address[..<start] + address[host...].prefix { $0 != "?" && $0 != "#" })
    }

    private static func isName(_ word: some StringProtocol) -> Bool {
        ShellWord.isPlain(word) && !word.contains { "@:%".contains($0) }
    }
}
