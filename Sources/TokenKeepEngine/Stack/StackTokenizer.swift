import TokenKeepCore

/// A word of a stack's text, with the number of the line on which the word begins.
struct StackWord {
    let text: String
    /// Whether the word was written in brackets. ``text`` does not include the brackets.
    let isBracketed: Bool
    let line: Int
}

/// Splits a stack's text into lines of words.
///
/// - Spaces and tabs separate words.
/// - `#` begins a comment.
/// - A word that begins with `[` ends at the next `]`. A word in brackets may contain spaces, and `\]` for a `]`.
/// - A `\` at the end of a line joins the line with the next line.
struct StackTokenizer {
    private let bytes: [UInt8]
    private let source: String
    private var position = 0
    private var line = 1

    init(_ text: String, source: String) {
        bytes = Array(text.utf8)
        self.source = source
    }

    /// The words of the next non-empty line; nil at the end of the text.
    mutating func next() throws(TokenKeepError) -> [StackWord]? {
        var words: [StackWord] = []
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\n"):
                advance()
                if !words.isEmpty { return words }
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "#"): while let byte = peek(), byte != UInt8(ascii: "\n") { advance() }
            case UInt8(ascii: "\\") where isJoin: try join()
            case UInt8(ascii: "["): words.append(try bracketed())
            default: words.append(try bare())
            }
        }
        return words.isEmpty ? nil : words
    }

    private mutating func bare() throws(TokenKeepError) -> StackWord {
        let start = position
        while let byte = peek(), !isBlank(byte), byte != UInt8(ascii: "#"), !(byte == UInt8(ascii: "\\") && isJoin) {
            guard !isControl else { throw expected("no control character", at: line) }
            advance()
        }
        return StackWord(text: text(bytes[start..<position]), isBracketed: false, line: line)
    }

    private mutating func bracketed() throws(TokenKeepError) -> StackWord {
        let firstLine = line
        var content: [UInt8] = []
        advance()
        while let byte = peek(), byte != UInt8(ascii: "]") {
            if byte == UInt8(ascii: "\\"), isJoin {
                try join()
                content.append(UInt8(ascii: " "))
                continue
            }
            if byte == UInt8(ascii: "\n") { break }
            guard !isControl || byte == UInt8(ascii: "\t") else { throw expected("no control character", at: line) }
            if byte == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "]") { advance() }
            content.append(bytes[position])
            advance()
        }
        guard peek() == UInt8(ascii: "]") else { throw expected("a ] that ends the [", at: firstLine) }
        advance()
        if let byte = peek(), !isBlank(byte), byte != UInt8(ascii: "#"), !(byte == UInt8(ascii: "\\") && isJoin) {
            throw expected("a space after the ]", at: line)
        }
        return StackWord(text: text(content[...]), isBracketed: true, line: firstLine)
    }

    /// Whether the `\` at the current position is the last character of its line, and so joins it with the next line.
    private var isJoin: Bool {
        guard let byte = peek(1) else { return true }
        return byte == UInt8(ascii: "\n") || (byte == UInt8(ascii: "\r") && peek(2) == UInt8(ascii: "\n"))
    }

    private mutating func join() throws(TokenKeepError) {
        let joined = line
        while let byte = peek(), byte != UInt8(ascii: "\n") { advance() }
        guard peek() != nil else { throw expected("a line after the \\ that joins it", at: joined) }
        advance()
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func advance() {
        if bytes[position] == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    /// Whether a control character is at the current position: an ASCII one, or U+0080 to U+009F.
    private var isControl: Bool {
        guard let byte = peek() else { return false }
        if byte == 0xC2, let next = peek(1) { return (0x80...0x9F).contains(next) }
        return byte < 0x20 || byte == 0x7F
    }

    private func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }

    /// Converts bytes of the text to a String. The bytes must be cut out at ASCII characters, so that they are valid
    /// UTF-8.
    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private func expected(_ what: String, at line: Int) -> TokenKeepError {
        .stackSyntax(expected: what, at: StackPlace(source: source, line: line))
    }
}

extension TokenKeepError {
    /// The error for a malformed stack, which names the file, the line and the expected syntax.
    static func stackSyntax(expected what: String, at place: StackPlace) -> TokenKeepError {
        TokenKeepError(.invalid, "\(place): expected \(what)", hint: "for example: any required vault")
    }
}

extension String {
    /// This word, cut to at most 64 bytes of UTF-8 for a message.
    var cutForMessage: String {
        let most = 64
        guard utf8.count > most else { return self }
        var kept = UnicodeScalarView()
        var length = 0
        for scalar in unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= most else { break }
            kept.append(scalar)
        }
        return String(kept) + "…"
    }
}
