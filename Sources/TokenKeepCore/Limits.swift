/// The largest sizes of an item's parts, in bytes.
///
/// A larger part is refused with ``Status/invalid``; nothing is ever truncated.
public enum Limits {
    /// A service name; at least one byte.
    public static let service = 255
    /// An account name; may be empty.
    public static let account = 255
    /// A namespace; may be empty.
    public static let namespace = 64
    /// A label.
    public static let label = 1024
    /// The largest number of attributes of an item.
    public static let attributeCount = 32
    /// An attribute's name, of `[a-z0-9._-]`.
    public static let attributeName = 64
    /// An attribute's value.
    public static let attributeValue = 1024
    /// A secret; may be empty.
    public static let secret = 1 << 20

    /// Checks a text's UTF-8 length, and refuses control characters (U+0000–U+001F, U+007F–U+009F).
    ///
    /// - Throws: ``Status/invalid``, naming the field and the limit.
    public static func check(
        _ text: String, field: String, atLeast minimum: Int = 0, atMost maximum: Int
    ) throws(TokenKeepError) {
        guard text.utf8.count >= minimum else {
            throw TokenKeepError(.invalid, "the \(field) is empty")
        }
        guard text.utf8.count <= maximum else {
            throw TokenKeepError(.invalid, "the \(field) is longer than \(maximum) bytes")
        }
        guard !text.hasControlCharacter else {
            throw TokenKeepError(.invalid, "the \(field) contains a control character")
        }
    }

    /// Checks a secret's length.
    ///
    /// - Throws: ``Status/invalid``, naming the limit.
    public static func checkSecret(count: Int) throws(TokenKeepError) {
        guard count <= secret else {
            throw TokenKeepError(.invalid, "the secret is longer than \(secret) bytes")
        }
    }
}
