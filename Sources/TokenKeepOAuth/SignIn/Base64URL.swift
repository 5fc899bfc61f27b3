import CSodium
import TokenKeepCore

/// base64url without padding (RFC 4648 section 5), in guarded memory.
enum Base64URL {
    /// Encodes bytes.
    ///
    /// - Parameter variant: another alphabet or padding, of libsodium.
    static func encoded(
        _ bytes: UnsafeRawBufferPointer, variant: Int32 = sodium_base64_VARIANT_URLSAFE_NO_PADDING
    ) throws(TokenKeepError) -> SecretBytes {
        let length = sodium_base64_encoded_len(bytes.count, variant)
        return try SecretBytes(count: length - 1) { text in
            guard let start = text.bindMemory(to: CChar.self).baseAddress else { return }
            // A NUL follows the bytes of a secret: there is room for the terminator.
            _ = sodium_bin2base64(
                start, length,
                bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, variant)
        }
    }

    /// Random bytes, encoded.
    static func random(_ count: Int) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(randomCount: count).withUnsafeBytes { bytes throws(TokenKeepError) in try encoded(bytes) }
    }
}
