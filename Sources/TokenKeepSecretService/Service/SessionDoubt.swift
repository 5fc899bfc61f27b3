import TokenKeepCore

/// The doubt of one call whether both ends of the session have the same key.
///
/// The protocol does not authenticate secrets. In some sessions, KWallet before 6.25 derives another key than
/// libsecret. With different keys, KWallet sends secrets that do not decrypt, and refuses or garbles the secrets that
/// it gets.
final class SessionDoubt {
    /// Whether the call is being repeated in a fresh session, because the first session was doubted.
    let isRepetition: Bool
    private(set) var isRaised = false

    init(isRepetition: Bool) { self.isRepetition = isRepetition }

    /// Asks for a repetition of the call in a fresh session.
    func raise() { isRaised = true }
}

extension ServicePart {
    /// Decodes a secret. If the secret does not decrypt, raises the doubt about the session.
    ///
    /// In a session with different keys, a secret may decrypt by chance to bytes that are not text. Bytes that are not
    /// text count only if a second session yields them too.
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
