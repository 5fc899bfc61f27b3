import CSodium
import TokenKeepCore

/// What becomes of a secret before the service gets it.
struct StoredForm {
    let isEncoded: Bool
    /// The vault whose key seals it; nil where it is not sealed.
    let sealedBy: String?
}

/// How a secret's bytes stand in the service: as they are where every program can print them, else in base64.
///
/// gnome-keyring writes a keyring without a password as lines of text: it loses all of it to a value that breaks a
/// line, and reads backslashes and outer spaces as something else. A prefix tells the base64 from the plain text that
/// another program may write over it.
enum StoredValue {
    /// The value of the attribute that marks a secret in base64.
    static let base64 = "base64"
    /// Before every secret that stands in base64.
    private static let prefix = Array("tokenkeep-base64:".utf8)
    /// The longest secret with its seal.
    static let largestSealed = Limits.secret + 256
    /// The largest stored form of a secret.
    static let largest = prefix.count + (largestSealed + 2) / 3 * 4

    /// Whether a secret must be stored in base64: it has control characters or backslashes, is no UTF-8, begins or ends
    /// with a space, or looks as if it were encoded.
    static func needsEncoding(_ secret: SecretBytes) -> Bool {
        guard !isEncoded(secret) else { return true }
        return secret.withUnsafeBytes { bytes in
            guard bytes.first != UInt8(ascii: " "), bytes.last != UInt8(ascii: " ") else { return true }
            var iterator = bytes.makeIterator()
            var parser = Unicode.UTF8.ForwardParser()
            while true {
                switch parser.parseScalar(from: &iterator) {
                case .emptyInput: return false
                case .error: return true
                case .valid(let encoded):
                    let scalar = Unicode.UTF8.decode(encoded).value
                    if scalar < 0x20 || scalar == 0x5C || (0x7F...0x9F).contains(scalar) { return true }
                }
            }
        }
    }

    /// Whether a stored text says of itself that it is encoded.
    static func isEncoded(_ stored: SecretBytes) -> Bool { stored.withUnsafeBytes { $0.starts(with: prefix) } }

    /// A secret in base64, behind the prefix.
    static func encode(_ secret: SecretBytes, in arena: SecretArena) throws(TokenKeepError) -> SecretBytes {
        let count = (secret.count + 2) / 3 * 4
        return try SecretBytes(count: prefix.count + count, in: arena) { text in
            text.copyBytes(from: prefix)
            guard let text = text.bindMemory(to: CChar.self).baseAddress?.advanced(by: prefix.count) else { return }
            secret.withUnsafeBytes { bytes in
                // A NUL follows the bytes of every secret: there is room for the one that is written here.
                _ = sodium_bin2base64(
                    text, count + 1,
                    bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, sodium_base64_VARIANT_ORIGINAL)
            }
        }
    }

    /// The secret that stands in base64 behind the prefix.
    ///
    /// - Throws: ``Status/corrupt`` where it is none.
    static func decode(_ text: SecretBytes, in arena: SecretArena) throws(TokenKeepError) -> SecretBytes {
        let padding = text.withUnsafeBytes { $0.suffix(2).count { $0 == UInt8(ascii: "=") } }
        let length = text.count - prefix.count
        guard isEncoded(text), length % 4 == 0, padding < 3, length >= padding else { throw notBase64 }
        return try SecretBytes(count: length / 4 * 3 - padding, in: arena) { bytes throws(TokenKeepError) in
            var count = 0
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { throw notBase64 }
            let outcome = text.withUnsafeBytes { text in
                sodium_base642bin(
                    start, bytes.count,
                    text.bindMemory(to: CChar.self).baseAddress?.advanced(by: prefix.count), length, nil, &count, nil,
                    sodium_base64_VARIANT_ORIGINAL)
            }
            guard outcome == 0, count == bytes.count else { throw notBase64 }
        }
    }

    private static let notBase64 = TokenKeepError(.corrupt, "the stored secret is said to be in base64 and is not")
}
