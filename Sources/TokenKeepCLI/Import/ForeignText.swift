import TokenKeepCore

/// Converts bytes of a source to texts and secrets.
enum ForeignText {
    /// Converts bytes to a text; nil if they are not UTF-8.
    static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? { String(validating: bytes, as: UTF8.self) }

    /// Copies bytes into guarded memory.
    static func secret(_ bytes: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes))
    }

    /// Copies bytes into guarded memory, and decodes escapes that consist of `mark` and two hexadecimal digits.
    ///
    /// - Throws: ``Status/corrupt`` if an escape is malformed.
    static func escaped(_ bytes: Slice<UnsafeRawBufferPointer>, by mark: UInt8) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(capacity: bytes.count) { buffer throws(TokenKeepError) in
            var count = 0
            var rest = bytes
            while let byte = rest.popFirst() {
                var byte = byte
                if byte == mark {
                    guard let decoded = HexadecimalDigit.takeByte(from: &rest) else {
                        throw TokenKeepError(.corrupt, "an escape is malformed")
                    }
                    byte = decoded
                }
                buffer[count] = byte
                count += 1
            }
            return count
        }
    }

    /// Decodes base64, with or without padding, into guarded memory. Ignores white space.
    ///
    /// - Throws: ``Status/corrupt`` if the text is not base64.
    static func base64(_ bytes: some Sequence<UInt8>, count: Int) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(capacity: count) { buffer throws(TokenKeepError) in
            var (bits, held, written, isEnded) = (UInt32(0), 0, 0, false)
            for byte in bytes where byte > 0x20 {
                if byte == UInt8(ascii: "=") {
                    isEnded = true
                    continue
                }
                guard !isEnded, let value = value(byte) else {
                    throw TokenKeepError(.corrupt, "the base64 is malformed")
                }
                bits = bits << 6 | UInt32(value)
                held += 6
                guard held >= 8 else { continue }
                held -= 8
                buffer[written] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
                written += 1
            }
            guard held < 6 else { throw TokenKeepError(.corrupt, "the base64 is malformed") }
            return written
        }
    }

    /// Converts a secret to a text, for use in a name.
    ///
    /// - Throws: ``Status/corrupt`` if the bytes are not UTF-8.
    static func name(_ secret: SecretBytes) throws(TokenKeepError) -> String {
        guard let text = secret.utf8String else { throw TokenKeepError(.corrupt, "a name is not UTF-8") }
        return text
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// A line of a source.
struct ForeignLine {
    /// The number of the line. The first line has the number 1.
    let number: Int
    /// The range of the line's bytes, line end included.
    let range: Range<Int>
    /// The bytes of the line without its line end and without a byte order mark.
    let content: Slice<UnsafeRawBufferPointer>

    /// The line's position, for messages.
    var place: String { "line \(number)" }

    /// Splits a source into its lines.
    static func all(in bytes: UnsafeRawBufferPointer) -> [ForeignLine] {
        var lines: [ForeignLine] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            var content = bytes[(start == 0 ? ByteOrderMark.length(of: bytes) : start)..<end]
            if content.last == UInt8(ascii: "\r") { content = content.dropLast() }
            lines.append(
                ForeignLine(number: lines.count + 1, range: start..<min(end + 1, bytes.count), content: content))
            start = end + 1
        }
        return lines
    }
}
