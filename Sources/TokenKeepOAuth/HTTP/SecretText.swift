package import TokenKeepCore

/// Builds texts with secrets, in guarded memory.
package enum SecretText {
    /// Concatenates a text, a secret and another text.
    package static func joined(
        _ text: String, _ secret: SecretBytes, _ rest: String = ""
    ) throws(TokenKeepError) -> SecretBytes {
        let (start, end) = (Array(text.utf8), Array(rest.utf8))
        return try SecretBytes(count: start.count + secret.count + end.count) { bytes in
            bytes.copyBytes(from: start)
            secret.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: bytes[start.count...]).copyBytes(from: $0)
            }
            UnsafeMutableRawBufferPointer(rebasing: bytes[(start.count + secret.count)...]).copyBytes(from: end)
        }
    }
}
