package import TokenKeepCore

/// Texts with secrets, in guarded memory.
package enum SecretText {
    /// A text with a secret behind it.
    package static func joined(_ text: String, _ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let start = Array(text.utf8)
        return try SecretBytes(count: start.count + secret.count) { bytes in
            bytes.copyBytes(from: start)
            secret.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: bytes[start.count...]).copyMemory(from: $0)
            }
        }
    }
}
