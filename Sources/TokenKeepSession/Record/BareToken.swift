package import TokenKeepCore

extension TokenResponse {
    /// Extracts an access token from text: removes a byte order mark, surrounding white space, the name of the header
    /// `Authorization:` and a leading word `Bearer`.
    ///
    /// - Returns: nil if the token is empty, or contains a space, a quotation mark or a byte that is not printable
    ///   ASCII.
    package static func bareToken(_ input: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        try input.withUnsafeBytes { bytes throws(TokenKeepError) -> SecretBytes? in
            var text = trimmed(AnswerText.withoutMark(bytes))
            if text.prefix(header.utf8.count).map({ $0 | 0x20 }).elementsEqual(header.utf8) {
                text = trimmed(text.dropFirst(header.utf8.count))
            }
            let word = text.prefix { $0 > 0x20 }
            if word.count == 6, word.map({ $0 | 0x20 }).elementsEqual("bearer".utf8) {
                text = trimmed(text[word.endIndex...])
            }
            guard !text.isEmpty, text.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }) else {
                return nil
            }
            return try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: text))
        }
    }

    /// Whether a text is the word `Bearer` without a token.
    static func isSchemeAlone(_ text: SecretBytes) -> Bool {
        text.withUnsafeBytes { trimmed($0[...]).map { $0 | 0x20 }.elementsEqual("bearer".utf8) }
    }

    /// Whether a text that was refused as a token cannot have been one: without ``bareToken(_:)``, it has quotation
    /// marks around it, characters that no token has, or is the word `Bearer` alone.
    static func isNoToken(_ text: SecretBytes) -> Bool {
        !isToken(text) || isSchemeAlone(text) || text.withUnsafeBytes { $0.first == UInt8(ascii: "\"") }
    }

    private static let header = "authorization:"

    private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let start = text.drop { isSpace($0) }
        return start.prefix(start.lastIndex { !isSpace($0) }.map { $0 + 1 - start.startIndex } ?? 0)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
