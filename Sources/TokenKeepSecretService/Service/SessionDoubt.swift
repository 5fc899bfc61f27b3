import TokenKeepCore

/// Whether, during one call, the two ends of the session seemed to have different keys.
///
/// The protocol does not authenticate secrets. In some sessions, KWallet before 6.25 derives another key than
/// libsecret. KWallet then sends secrets that do not decrypt, and refuses or corrupts the secrets that it receives.
final class SessionDoubt {
    /// Whether the call is being repeated in a new session, because the first session was doubted.
    let isRepetition: Bool
    private(set) var isRaised = false

    init(isRepetition: Bool) { self.isRepetition = isRepetition }

    /// Requests that the call be repeated in a new session.
    func raise() { isRaised = true }
}

extension ServicePart {
    /// Decrypts a secret. If that fails, requests by ``raise()`` that the call be repeated in a new session.
    ///
    /// In a session with different keys, a secret may decrypt by chance to bytes that are not text. Such bytes are
    /// accepted only if a second session yields them, too.
    func decode(_ encoded: Variant) throws(TokenKeepError) -> SecretBytes {
        let stored: SecretBytes
        do throws(TokenKeepError) {
            stored = try link.decode(encoded)
        } catch {
            if link.isEncrypted { doubt.raise() }
            throw error
        }
        guard link.isProven || doubt.isRepetition || StoredValue.isText(stored, mayHaveLines: true) else {
            doubt.raise()
            throw TokenKeepError(.corrupt, "the Secret Service sent a secret that is no text")
        }
        link.prove()
        return stored
    }
}
