package import TokenKeepCore

/// Decodes forms and URL queries (application/x-www-form-urlencoded).
package enum FormText {
    /// Decodes a name or a value; nil if a percent escape is invalid.
    package static func decoded(_ text: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes? {
        var isBroken = false
        let decoded = try SecretBytes(capacity: text.count) { bytes in
            var length = 0
            var rest = text
            while let byte = rest.popFirst() {
                var byte = byte == UInt8(ascii: "+") ? 0x20 : byte
                if byte == UInt8(ascii: "%") {
                    guard let escaped = HexadecimalDigit.takeByte(from: &rest) else {
                        isBroken = true
                        return 0
                    }
                    byte = escaped
                }
                bytes[length] = byte
                length += 1
            }
            return length
        }
        return isBroken ? nil : decoded
    }

    /// Parses an answer that is a form; nil for other text, such as a web page. Members that cannot be decoded are left
    /// out; the last of several members with one name counts. A question mark before the form, as in a URL, is left out.
    static func members(of answer: UnsafeRawBufferPointer) throws(TokenKeepError) -> JSONValue? {
        let json = try JSONValue.object()
        let start = AnswerText.withoutMark(answer).drop { $0 <= 0x20 || $0 == UInt8(ascii: "?") }
        let text = start.prefix(start.lastIndex { $0 > 0x20 }.map { $0 + 1 - start.startIndex } ?? 0)
        guard text.allSatisfy({ $0 >= 0x20 && !"<>\"{}".utf8.contains($0) }) else { return nil }
        for field in fields(of: text) {
            let (name, value) = try (
                decoded(field.prefix { $0 != UInt8(ascii: "=") }),
                decoded(field.drop { $0 != UInt8(ascii: "=") }.dropFirst())
            )
            if let name = name?.utf8String, !name.isEmpty, !name.utf8.contains(0), let value {
                try? json.set(name, value)
            }
        }
        return ["access_token", "refresh_token", "device_code", "error"].contains { json[$0] != nil } ? json : nil
    }

    /// Splits a form at `&`, or, if it has none, at `;` (HTML 4.01, section B.2.2) if each part is then a field. Blanks
    /// around a field, and empty fields, are left out.
    private static func fields(of text: Slice<UnsafeRawBufferPointer>) -> [Slice<UnsafeRawBufferPointer>] {
        let fields = parts(of: text, separator: UInt8(ascii: "&"))
        let parts = fields.count == 1 ? parts(of: text, separator: UInt8(ascii: ";")) : []
        return !parts.isEmpty && parts.allSatisfy { $0.contains(UInt8(ascii: "=")) } ? parts : fields
    }

    private static func parts(
        of text: Slice<UnsafeRawBufferPointer>, separator: UInt8
    ) -> [Slice<UnsafeRawBufferPointer>] {
        text.split(separator: separator).map { part in
            let start = part.drop { $0 == 0x20 }
            return start.prefix(start.lastIndex { $0 != 0x20 }.map { $0 + 1 - start.startIndex } ?? 0)
        }.filter { !$0.isEmpty }
    }
}
