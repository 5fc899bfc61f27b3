import TokenKeepCore

/// Decodes names and values of a query (application/x-www-form-urlencoded).
enum FormCoding {
    /// A name with its value, which may be a secret.
    struct Field {
        let name: String
        let value: SecretBytes
    }

    private static let mostFields = 32

    /// Decodes a query.
    ///
    /// - Throws: ``Status/invalid`` for a broken escape, a name that occurs twice, or more than 32 fields.
    static func decoded(_ query: UnsafeRawBufferPointer) throws(TokenKeepError) -> [Field] {
        var fields: [Field] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = try value(part[..<equals]).utf8String ?? ""
            guard fields.count < mostFields, !fields.contains(where: { PlainText.areSame($0.name, name) }) else {
                throw TokenKeepError(.invalid, "a query repeats a name, or has more than \(mostFields) fields")
            }
            fields.append(Field(name: name, value: try value(part[equals...].dropFirst())))
        }
        return fields
    }

    private static func value(_ text: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes {
        var length = 0
        var isBroken = false
        let decoded = try SecretBytes(count: text.count) { bytes in
            var rest = text
            while let byte = rest.popFirst() {
                var byte = byte == UInt8(ascii: "+") ? 0x20 : byte
                if byte == UInt8(ascii: "%") {
                    guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                        isBroken = true
                        return
                    }
                    byte = high << 4 | low
                }
                bytes[length] = byte
                length += 1
            }
        }
        guard !isBroken else { throw TokenKeepError(.invalid, "a query has a broken escape") }
        return try decoded.prefix(length)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
