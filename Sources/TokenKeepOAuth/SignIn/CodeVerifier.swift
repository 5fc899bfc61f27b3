import CSodium
import TokenKeepCore

/// The code verifier (RFC 7636): 256 random bits, kept only in memory. With it, a program proves that it also requested
/// the code that it redeems.
struct CodeVerifier {
    let secret: SecretBytes
    /// The challenge of method S256: the SHA-256 hash of the secret, in base64url.
    let challenge: String

    init() throws(TokenKeepError) {
        let secret = try CodeVerifier.random(32)
        let hash = try SecretBytes(count: Int(crypto_hash_sha256_BYTES)) { hash in
            guard let start = hash.bindMemory(to: UInt8.self).baseAddress else { return }
            secret.withUnsafeBytes { bytes in
                _ = crypto_hash_sha256(start, bytes.bindMemory(to: UInt8.self).baseAddress, UInt64(bytes.count))
            }
        }
        self.secret = secret
        let challenge = try hash.withUnsafeBytes { bytes throws(TokenKeepError) in try Base64Text.encoded(bytes, .url) }
        self.challenge = challenge.utf8String ?? ""
    }

    /// Returns `count` random bytes in base64url without padding.
    static func random(_ count: Int) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(randomCount: count).withUnsafeBytes { bytes throws(TokenKeepError) in
            try Base64Text.encoded(bytes, .url)
        }
    }
}
