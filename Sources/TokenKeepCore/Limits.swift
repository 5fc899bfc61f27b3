/// The maximum sizes of the parts of an item, in bytes.
///
/// A longer part is refused with ``Status/invalid``. Nothing is truncated.
public enum Limits {
    /// The maximum length of a service name, which has at least one byte.
    public static let service = 255
    /// The maximum length of an account name, which may be empty.
    public static let account = 255
    /// The maximum length of a namespace, which may be empty.
    public static let namespace = 64
    /// The maximum length of a label.
    public static let label = 1024
    /// The maximum number of attributes of one item.
    public static let attributeCount = 32
    /// The maximum length of an attribute's name, which consists of `[a-z0-9._-]`.
    public static let attributeName = 64
    /// The maximum length of an attribute's value.
    public static let attributeValue = 1024
    /// The maximum length of a secret, which may be empty.
    public static let secret = 1 << 20

    /// Throws ``Status/invalid`` if a text's UTF-8 length exceeds its limits, or if it contains control characters.
    ///
    /// The control characters are U+0000–U+001F and U+007F–U+009F. The error names the field and the limit.
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

    /// Throws ``Status/invalid`` if a secret is longer than ``secret`` bytes.
    public static func checkSecret(count: Int) throws(TokenKeepError) {
        guard count <= secret else {
            throw TokenKeepError(.invalid, "the secret is longer than \(secret) bytes")
        }
    }
}
