import TokenKeepCore

/// The form in which the service stores a secret: plain or in base64, sealed or not.
struct StoredForm {
    let isEncoded: Bool
    /// The ID of the vault whose key seals the secret; nil if the secret is not sealed.
    let sealedBy: String?
}

/// The encoding of a secret: unchanged if the service stores it unchanged, otherwise base64 after a prefix.
///
/// gnome-keyring writes a keyring without a password as lines of text: a secret with a line break would destroy the
/// whole keyring, and backslashes and outer spaces would be changed. KeePassXC stores several lines unchanged. The
/// prefix distinguishes base64 from a plain secret that another program saved later.
enum StoredValue {
    /// The value of the attribute that marks a secret in base64.
    static let base64 = "base64"
    /// The prefix of every secret in base64.
    private static let prefix = Array("tokenkeep-base64:".utf8)
    /// The maximum length of a sealed secret, in bytes.
    static let largestSealed = Limits.secret + 256
    /// The maximum length of a secret as the service stores it, in bytes.
    static let largest = prefix.count + (largestSealed + 2) / 3 * 4

    /// Whether a secret must be stored in base64 if the service is not KeePassXC, and may be gnome-keyring.
    ///
    /// True for a secret that is empty, is not UTF-8, has control characters or backslashes, or begins or ends with a
    /// space. Also true for a secret that begins with a byte order mark or with the prefix of encoded secrets.
    static func needsEncoding(_ secret: SecretBytes) -> Bool {
        guard secret.count > 0, !isEncoded(secret), !hasByteOrderMark(secret), isText(secret) else { return true }
        let (space, backslash) = (UInt8(ascii: " "), UInt8(ascii: "\\"))
        return secret.withUnsafeBytes { $0.first == space || $0.last == space || $0.contains(backslash) }
    }

    /// Whether a secret must be stored in base64 in KeePassXC.
    ///
    /// True for a secret that is empty, is not UTF-8, has control characters other than tabs and line feeds, or may
    /// contain a placeholder. Also true for a secret that begins with a byte order mark or with the prefix of encoded
    /// secrets. KeePassXC refuses some placeholders, such as `{REF:P@T:title}`.
    static func needsEncodingInKeePassXC(_ secret: SecretBytes) -> Bool {
        secret.count == 0 || isEncoded(secret) || hasByteOrderMark(secret) || !isText(secret, mayHaveLines: true)
            || mayHoldPlaceholder(secret)
    }

    /// Whether a secret begins with the byte order mark U+FEFF, which Qt removes when it reads UTF-8.
    private static func hasByteOrderMark(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { ByteOrderMark.length(of: $0) > 0 }
    }

    /// Whether a secret contains an opening brace followed by a letter, like a placeholder of KeePassXC.
    private static func mayHoldPlaceholder(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            zip(bytes, bytes.dropFirst()).contains { brace, letter in
                brace == UInt8(ascii: "{") && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter | 0x20)
            }
        }
    }

    /// Whether a secret is UTF-8 without control characters. `mayHaveLines` allows tabs and line feeds.
    static func isText(_ secret: SecretBytes, mayHaveLines: Bool = false) -> Bool {
        secret.withUnsafeBytes { bytes in
            var iterator = bytes.makeIterator()
            var parser = Unicode.UTF8.ForwardParser()
            while true {
                switch parser.parseScalar(from: &iterator) {
                case .emptyInput: return true
                case .error: return false
                case .valid(let encoded):
                    let scalar = Unicode.UTF8.decode(encoded)
                    let isAllowed = mayHaveLines && (scalar == "\t" || scalar == "\n")
                    if scalar.properties.generalCategory == .control, !isAllowed { return false }
                }
            }
        }
    }

    /// Whether a stored text begins with the prefix of encoded secrets.
    static func isEncoded(_ stored: SecretBytes) -> Bool { stored.withUnsafeBytes { $0.starts(with: prefix) } }

    /// Encodes a secret: the prefix, followed by the secret in base64.
    static func encode(_ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: prefix.count + Base64Text.length(of: secret.count)) { text in
            text.copyBytes(from: prefix)
            secret.withUnsafeBytes {
                Base64Text.encode($0, intoSecret: UnsafeMutableRawBufferPointer(rebasing: text[prefix.count...]))
            }
        }
    }

    /// Decodes the base64 that follows the prefix.
    ///
    /// - Throws: ``Status/corrupt`` if the text is not valid base64.
    static func decode(_ text: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        guard isEncoded(text) else { throw notBase64 }
        return try SecretBytes(capacity: (text.count - prefix.count) / 4 * 3) { bytes throws(TokenKeepError) in
            let count = text.withUnsafeBytes {
                Base64Text.decode(UnsafeRawBufferPointer(rebasing: $0.dropFirst(prefix.count)), into: bytes)
            }
            guard let count else { throw notBase64 }
            return count
        }
    }

    private static let notBase64 = TokenKeepError(.corrupt, "the stored secret is said to be in base64 and is not")
}
