import TokenKeepCore
import TokenKeepSession

/// Decodes names and values of a query (application/x-www-form-urlencoded).
enum FormCoding {
    /// A decoded name with its value, which may be a secret.
    struct Field {
        let name: String
        let value: SecretBytes
    }

    private static let mostFields = 32

    /// Decodes a query.
    ///
    /// - Throws: ``Status/invalid`` for an invalid percent escape, a repeated name, or more than 32 fields.
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
        guard let decoded = try FormText.decoded(text) else {
            throw TokenKeepError(.invalid, "a query has a broken escape")
        }
        return decoded
    }
}
