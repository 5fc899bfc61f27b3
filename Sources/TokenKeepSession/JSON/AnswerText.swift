import TokenKeepCore

/// Decodes the text of a server's answer from any Unicode encoding.
enum AnswerText {
    /// U+FFFD in UTF-8, which replaces bytes that are no valid character.
    static let unreadable: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// Returns the text as UTF-8, without a byte order mark.
    ///
    /// Reads UTF-8; UTF-16 if it begins with a byte order mark or an ASCII character; UTF-32 if it begins with a byte
    /// order mark. A byte of another character set becomes U+FFFD, which no token contains.
    static func utf8(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> SecretBytes {
        // UTF-32 is checked before UTF-16, because a little-endian UTF-32 byte order mark begins with the UTF-16 byte
        // order mark.
        for isBigEndian in [false, true]
        where bytes.starts(with: isBigEndian ? [0, 0, 0xFE, 0xFF] : [0xFF, 0xFE, 0, 0]) {
            let units = stride(from: 4, to: bytes.count - 3, by: 4).lazy.map { index in
                bytes[index..<index + 4].enumerated().reduce(UInt32(0)) { unit, byte in
                    unit | UInt32(byte.element) << UInt32(8 * (isBigEndian ? 3 - byte.offset : byte.offset))
                }
            }
            return try transcoded(units, from: UTF32.self, longest: bytes.count / 4 * 4)
        }
        if let isBigEndian = byteOrder(bytes) {
            let units = stride(from: 0, to: bytes.count - 1, by: 2).lazy.map { index in
                let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isBigEndian ? first << 8 | second : second << 8 | first
            }
            return try transcoded(units.drop { $0 == 0xFEFF }, from: UTF16.self, longest: bytes.count / 2 * 3)
        }
        return try transcoded(withoutMark(bytes), from: UTF8.self, longest: bytes.count * 3)
    }

    /// The text behind its UTF-8 byte order marks. Programs that join files leave several, and white space before them.
    static func withoutMark(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var text = bytes[...]
        while true {
            let start = text.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
            let length = ByteOrderMark.length(of: start)
            guard length > 0 else { return text }
            text = start.dropFirst(length)
        }
    }

    /// Whether UTF-16 text is big-endian; nil if the text is not UTF-16.
    private static func byteOrder(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        guard bytes.count >= 2 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0xFE, 0xFF), (0, 1...0x7F): return true
        case (0xFF, 0xFE), (1...0x7F, 0): return false
        default: return nil
        }
    }

    private static func transcoded<Units: Sequence, Encoding: Unicode.Encoding>(
        _ units: Units, from: Encoding.Type, longest: Int
    ) throws(TokenKeepError) -> SecretBytes where Units.Element == Encoding.CodeUnit {
        try SecretBytes(capacity: longest) { bytes in
            var length = 0
            _ = transcode(units.makeIterator(), from: Encoding.self, to: UTF8.self, stoppingOnError: false) { byte in
                bytes[length] = byte
                length += 1
            }
            return length
        }
    }
}
