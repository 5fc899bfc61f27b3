public import TokenKeepCore

/// Parses stacks given as text, line by line.
///
///     # operation  control     module   arguments
///     any          required    vault
///     load         [ok=done locked=die default=bad] vault
///     any          include     common
///
/// `docs/stack.md` describes the language.
public enum StackParser {
    /// The text of the stack `default`, unless there is a file `default.conf`.
    public static let builtInDefault = """
        any sufficient secret-service
        any required   vault

        """

    /// The maximum length of a stack's text, in bytes. A longer text is refused.
    public static let maximumLength = 64 * 1024

    /// A parsed line of a stack's text, which names a module or another stack.
    enum Statement: Equatable {
        case module(StackLine)
        /// A line that names another stack.
        ///
        /// If `isSubstack` is true and a line of the other stack ends the operation, jumps or resets, it affects only
        /// that stack.
        case stack(name: String, operation: StackLine.Operation, isSubstack: Bool, place: StackPlace)
    }

    /// Parses the text of a stack, which must not include another stack.
    ///
    /// - Parameter source: the name of the text in messages, for example `stack_text`.
    /// - Throws: ``Status/invalid``, naming the source, the line and the expected syntax.
    public static func parse(_ text: String, source: String) throws(TokenKeepError) -> [StackLine] {
        try Stack(text: text, source: source, directories: .none).lines
    }

    /// Parses each line of a text into a statement.
    static func statements(_ text: String, source: String) throws(TokenKeepError) -> [Statement] {
        guard text.utf8.count <= maximumLength else {
            throw TokenKeepError(.invalid, "\(source) is longer than \(maximumLength) bytes")
        }
        var tokenizer = StackTokenizer(text, source: source)
        var statements: [Statement] = []
        while let words = try tokenizer.next() {
            var line = StackLineParser(words, source: source)
            statements.append(try line.statement())
        }
        return statements
    }
}
