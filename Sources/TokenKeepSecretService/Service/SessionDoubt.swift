import TokenKeepCore

/// One call's doubt that both ends of the session have the same key.
///
/// Nothing in the protocol authenticates a secret. KWallet before 6.25 derives another key than libsecret in some
/// sessions: then it sends secrets that do not decrypt, and it refuses or garbles the secrets that it gets.
final class SessionDoubt {
    /// Whether the call is repeated in a fresh session, after the first session was doubted.
    let isRepetition: Bool
    private(set) var isRaised = false

    init(isRepetition: Bool) { self.isRepetition = isRepetition }

    /// Notes that the call should be repeated in a fresh session.
    func raise() { isRaised = true }
}

extension ServiceCall {
    /// Decodes a secret. Raises the doubt if the secret does not decrypt.
    ///
    /// A secret that decrypts by chance in a session with different keys is no text. Such a secret counts only once a
    /// second session yields it, too.
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

    /// Reads a saved secret back, unless an earlier secret proved the session.
    ///
    /// - Throws: ``Status/corrupt`` if the service has another secret: its session has another key. A difference in a
    ///   fresh session is accepted: another program wrote meanwhile.
    func verify(_ stored: SecretBytes, at path: ObjectPath) throws(TokenKeepError) {
        guard !link.isProven, case .answer(let body) = try exchange(getSecrets([path])),
            let entry = body[0].children.first(where: { $0[0].text == path.text })
        else { return }
        guard try decode(entry[1]) == stored || doubt.isRepetition else {
            doubt.raise()
            throw TokenKeepError(.corrupt, "the Secret Service kept another secret than it was sent")
        }
    }
}
