extension String {
    /// This help text with marks, so that the argument parser does not break its indented lines, which are the
    /// examples.
    ///
    /// The argument parser breaks lines at spaces to fit the terminal, and a command that is broken cannot be copied.
    var withWholeExamples: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                guard line.hasPrefix("  ") else { return String(line) }
                return String(line.map { $0 == " " ? HelpText.space : $0 }) + " " + String(HelpText.end)
            }
            .joined(separator: "\n")
    }
}

/// The marks in a help text that prevent the argument parser from breaking the lines of examples.
enum HelpText {
    /// A placeholder for a space at which a line must not be broken.
    fileprivate static let space: Character = "\u{E000}"
    /// The mark at the end of an example's line. The parser breaks a line that is too long only at the space before the
    /// mark.
    fileprivate static let end: Character = "\u{E001}"

    /// Replaces the marks by ordinary spaces and line ends.
    static func plain(_ text: String) -> String {
        guard text.contains(end) else { return text }
        return String(
            text.replacing("\n\(end)", with: "").replacing(" \(end)", with: "").map { $0 == space ? " " : $0 })
    }
}
