extension String {
    /// A help text whose lines of examples, which are indented, stay whole.
    ///
    /// The argument parser breaks lines at spaces to fit the terminal. A command that is broken so cannot be copied.
    var withWholeExamples: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                guard line.hasPrefix("  ") else { return String(line) }
                return String(line.map { $0 == " " ? HelpText.space : $0 }) + " " + String(HelpText.end)
            }
            .joined(separator: "\n")
    }
}

/// The text of a help as the argument parser returns it.
enum HelpText {
    /// Stands for a space at which no line may be broken.
    fileprivate static let space: Character = "\u{E000}"
    /// Marks the end of a line of an example. The parser breaks a too long line at the space before the end, and nowhere else.
    fileprivate static let end: Character = "\u{E001}"

    /// The text with ordinary spaces and line ends.
    static func plain(_ text: String) -> String {
        guard text.contains(end) else { return text }
        return String(
            text.replacing("\n\(end)", with: "").replacing(" \(end)", with: "").map { $0 == space ? " " : $0 })
    }
}
