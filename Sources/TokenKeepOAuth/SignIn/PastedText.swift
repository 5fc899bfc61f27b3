import TokenKeepCore
import TokenKeepSession

/// Finds addresses in a text that contains more than the address: other lines, punctuation, or another address into
/// which a mail program has encoded it.
struct PastedText {
    private let text: SecretBytes

    private static let mostWords = 64

    init(_ text: SecretBytes) { self.text = text }

    /// Returns the parts of the text that may be the answer's address.
    ///
    /// - Parameters:
    ///   - whole: the text without characters that are not allowed in addresses.
    ///   - joined: an earlier pasted part of the address, followed by `whole`.
    ///   - state: the state of the sign-in. An address may end after its state, if neither `code`, `iss` nor `error`
    ///     follows.
    func candidates(
        _ whole: SecretBytes, _ joined: SecretBytes, _ state: SecretBytes
    ) throws(TokenKeepError) -> [SecretBytes] {
        var texts = try [PastedText.withoutMarks(whole)] + lines() + words()
        for text in [whole] + texts {
            if let decoded = try PastedText.decoded(text) { texts.append(decoded) }
        }
        for text in [whole] + texts {
            if let cut = try PastedText.cut(text, behind: state) { texts.append(cut) }
        }
        texts.append(joined)
        if let cut = try PastedText.cut(joined, behind: state) { texts.append(cut) }
        return texts
    }

    /// Returns the text up to the first blank after a question mark, without punctuation at the end that belongs to a
    /// sentence.
    ///
    /// Blanks at the beginnings and ends of lines are ignored, because a terminal may have broken the address into
    /// lines there.
    func address(beginning redirect: String) throws(TokenKeepError) -> SecretBytes {
        let length = text.withUnsafeBytes { bytes in
            let start = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
            return bytes[start...].indices.first { PastedText.isBlankInLine(bytes, $0) } ?? bytes.count
        }
        let address = try PastedAddress.joined(nil, text.prefix(length))
        guard !address.withUnsafeBytes({ $0.starts(with: redirect.utf8) }) else { return address }
        return try PastedText.withoutMarks(address)
    }

    private static func isBlankInLine(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Bool {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let isLineEnd = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
        guard isBlank(bytes[place]), let next = bytes[place...].first(where: { !isBlank($0) }), !isLineEnd(next),
            let last = bytes[..<place].last(where: { !isBlank($0) })
        else { return false }
        return !isLineEnd(last)
    }

    /// Returns the last line of the text, without characters that are not allowed in addresses; ``words()`` likewise
    /// returns its last words.
    private func lines() throws(TokenKeepError) -> [SecretBytes] { try parts(1) { $0 == 0x0A } }

    private func words() throws(TokenKeepError) -> [SecretBytes] { try parts(PastedText.mostWords) { $0 <= 0x20 } }

    private func parts(_ count: Int, _ isSeparator: (UInt8) -> Bool) throws(TokenKeepError) -> [SecretBytes] {
        try text.withUnsafeBytes { bytes throws(TokenKeepError) in
            var parts: [SecretBytes] = []
            for part in bytes.split(whereSeparator: isSeparator).suffix(count) {
                let copy = try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: part))
                parts.append(try PastedText.withoutMarks(PastedAddress.joined(nil, copy)))
            }
            return parts
        }
    }

    /// Removes punctuation that a sentence or Markdown adds after an address. The state, which may be the last field,
    /// never ends with such a character.
    private static func withoutMarks(_ text: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let marks = text.withUnsafeBytes { bytes in bytes.reversed().prefix { ".,;:!)]}*".utf8.contains($0) }.count }
        return try text.prefix(text.count - marks)
    }

    /// Decodes a percent-encoded address that is the whole text or a field of another address; nil if there is no such
    /// address.
    private static func decoded(_ text: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        try text.withUnsafeBytes { bytes throws(TokenKeepError) in
            let mark = bytes.indices.first { start in
                let byte = bytes[start...].prefix(3)
                return byte.elementsEqual("%3F".utf8) || byte.elementsEqual("%3f".utf8)
            }
            guard let mark else { return nil }
            let start = bytes[..<mark].lastIndex { "?&=".utf8.contains($0) }.map { $0 + 1 } ?? 0
            let end = bytes[mark...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            return try FormText.decoded(bytes[start..<end])
        }
    }

    /// Cuts a text off after the field `state` with the sign-in's state; nil if the text has no such field, or if
    /// fields after it decide about the sign-in.
    private static func cut(_ text: SecretBytes, behind state: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        let name = "state=".utf8
        let start = state.withUnsafeBytes { state in
            text.withUnsafeBytes { bytes in
                bytes.indices.first { start in
                    bytes[start...].starts(with: name) && bytes[start...].dropFirst(name.count).starts(with: state)
                }
            }
        }
        guard let start else { return nil }
        let end = start + name.count + state.count
        // If one of the fields `code`, `iss` and `error` may follow, nothing is cut off, because these fields decide
        // about the sign-in.
        let decides = text.withUnsafeBytes { bytes in
            end < bytes.count && bytes[end] == UInt8(ascii: "&")
                && bytes[end...].indices.contains { index in
                    ["code=", "iss=", "error="].contains { bytes[index...].starts(with: $0.utf8) }
                }
        }
        return decides ? nil : try text.prefix(end)
    }
}
