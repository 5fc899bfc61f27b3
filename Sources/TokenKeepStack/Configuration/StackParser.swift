public import TokenKeepCore

/// Reads a stack given as text: a line each module, `operation control module arguments…`, and `#` comments.
public enum StackParser {
    /// The stack of a program that names none.
    public static let builtInDefault = "any required vault\n"

    /// Longer texts are refused before they are read.
    public static let maximumLength = 64 * 1024

    /// Reads `text`.
    ///
    /// - Parameter source: what the messages call the text, `stack_text` for example.
    /// - Throws: ``Status/invalid`` with source, line and what was expected.
    public static func parse(_ text: String, source: String) throws(TokenKeepError) -> [StackLine] {
        guard text.utf8.count <= maximumLength else {
            throw TokenKeepError(.invalid, "\(source) is longer than \(maximumLength) bytes")
        }
        var lines: [StackLine] = []
        // By scalars: to Characters, CR LF is one that is no LF.
        for (index, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let parsed = try parse(line: Substring(line), at: "\(source):\(index + 1)") { lines.append(parsed) }
        }
        guard !lines.isEmpty else {
            throw TokenKeepError(.invalid, "\(source) names no module", hint: "for example: any required vault")
        }
        return lines
    }

    private static func parse(line: Substring, at place: String) throws(TokenKeepError) -> StackLine? {
        let code = line.prefix { $0 != "#" }
        let words = code.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(String.init)
        guard let first = words.first else { return nil }
        guard let operation = StackLine.Operation(rawValue: first) else {
            throw expected("an operation (load, save, clear, list, any)", at: place)
        }
        guard words.count > 1, let control = StackLine.Control(rawValue: words[1]) else {
            throw expected("a control (required, requisite, sufficient, optional) after the operation", at: place)
        }
        guard words.count > 2 else { throw expected("a module after the control", at: place) }
        return StackLine(
            operation: operation, control: control, module: words[2], arguments: Array(words.dropFirst(3)))
    }

    private static func expected(_ what: String, at place: String) -> TokenKeepError {
        TokenKeepError(.invalid, "\(place): expected \(what)", hint: "for example: any required vault")
    }
}
