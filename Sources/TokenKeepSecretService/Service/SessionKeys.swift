internal import CLibsecret
import TokenKeepCore

/// The client's keys of one negotiation with the algorithm ``algorithm``.
///
/// libsecret's own negotiation raises to powers of 1024 bits, which takes most of the processor's time in a program
/// that loads a single item. These keys have 256 bits, twice the strength of the group of 1024 bits.
struct SessionKeys {
    static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    /// Whether libsecret uses libgcrypt, whose functions make and use the keys. Call it after ``GLibrary/load()``.
    static var areUsable: Bool { tokenkeep_session_keys_usable() != 0 }

    /// The most attempts to find a public key that does not begin with a zero byte: 1 of 256 keys does.
    private static let attempts = 32

    private let secret: SecretBytes
    /// The public key.
    let ours: [UInt8]

    /// Makes new keys.
    init() throws(TokenKeepError) {
        for _ in 0..<SessionKeys.attempts {
            let secret = try SecretBytes(randomCount: Int(TOKENKEEP_PRIVATE_KEY))
            var ours = [UInt8](repeating: 0, count: Int(TOKENKEEP_PUBLIC_KEY))
            guard tokenkeep_session_keys_begin(secret.start, &ours) == 0 else { continue }
            (self.secret, self.ours) = (secret, ours)
            return
        }
        throw TokenKeepError(.io, "no memory for the keys of a session")
    }

    /// The session's key; nil if the service's public key is not of the group.
    func finish(with theirs: Variant) throws(TokenKeepError) -> SecretBytes? {
        var result: Int32 = -1
        let key = try SecretBytes(count: Int(TOKENKEEP_SESSION_KEY)) { key throws(TokenKeepError) in
            try theirs.withBytes { (theirs) throws(TokenKeepError) in
                guard let start = theirs.bindMemory(to: UInt8.self).baseAddress,
                    let key = key.bindMemory(to: UInt8.self).baseAddress
                else { return }
                result = tokenkeep_session_keys_finish(secret.start, start, theirs.count, key)
            }
        }
        return result == 0 ? key : nil
    }
}

extension SecretBytes {
    fileprivate var start: UnsafePointer<UInt8> { self.unsafeAddress.assumingMemoryBound(to: UInt8.self) }
}
