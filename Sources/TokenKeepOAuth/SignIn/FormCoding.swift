import TokenKeepCore
import TokenKeepSession

/// Decodes names and values of a query (application/x-www-form-urlencoded).
enum FormCoding {
    /// A decoded name with its value, which may be a secret.
    struct Field {
        let name: String
        let value: SecretBytes
    }

    /// Decodes the fields of a query whose names are in `names` or `words`. All other fields are ignored, even
    /// malformed ones.
    ///
    /// - Parameters:
    ///   - names: the fields that decide about the sign-in. They must not be malformed or repeated.
    ///   - words: the fields that are only shown to the user. A malformed one is left out; of repeated ones, the first
    ///     is used.
    /// - Throws: ``Status/invalid`` if a field in `names` has an invalid percent escape, or occurs twice.
    static func decoded(
        _ query: UnsafeRawBufferPointer, _ names: [String], words: [String]
    ) throws(TokenKeepError) -> [Field] {
        var fields: [Field] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            guard let found = try FormText.decoded(part[..<equals])?.utf8String,
                let name = (names + words).first(where: { PlainText.areSame(found, $0) })
            else { continue }
            let value = try FormText.decoded(part[equals...].dropFirst())
            let isRepeated = fields.contains { $0.name == name }
            guard !isRepeated, let value else {
                guard words.contains(name) else {
                    throw TokenKeepError(
                        .invalid, isRepeated ? "an answer repeats the field \(name)" : "the field \(name) is malformed")
                }
                continue
            }
            fields.append(Field(name: name, value: value))
        }
        return fields
    }
}
