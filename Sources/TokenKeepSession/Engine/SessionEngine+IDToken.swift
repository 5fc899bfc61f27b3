package import TokenKeepCore

/// An ID token (OpenID Connect Core 2), as the server last sent it.
package struct SessionIDToken: Sendable {
    package let value: SecretBytes
    /// The end that the token names; nil if it names none.
    package let expiresAt: UnixTime?

    init(_ value: SecretBytes) {
        self.value = value
        let end = UnverifiedClaims(unverified: value)?.seconds("exp")
        expiresAt = end.map { UnixTime($0) }
    }
}

extension SessionEngine {
    /// The provider, the scope and the ID token of the sealed record. The names of ``info()`` come from the note, which can
    /// be forged.
    ///
    /// - Returns: nil for each if nobody is signed in, or if the record has none.
    /// - Throws: the reason why the record cannot be read.
    package func sealed() throws(TokenKeepError) -> (provider: String?, scope: String?, idToken: SecretBytes?) {
        let record = try newCall().read().record
        return (record?.provider, record?.scope, try record?.json["id_token"]?.secret())
    }
}

extension SessionIDToken {
    /// An ID token that lasts at least `minTTL` seconds, if the server gives one with a refresh. The session is renewed if
    /// the present token is over, or ends sooner.
    ///
    /// - Throws: as ``token(minTTL:for:)``; ``Status/unsupported`` if the session has no ID token, ``Status/expired`` if the
    ///   token is over and the server gives no other.
    package static func fresh(of session: SessionEngine, minTTL: UInt32) throws(TokenKeepError) -> SessionIDToken {
        _ = try session.token()
        guard let present = try session.sealed().idToken.map(SessionIDToken.init) else {
            throw TokenKeepError(
                .unsupported, "the session of \(session.name) has no ID token", hint: "sign in with the scope openid")
        }
        if present.lasts(max(1, minTTL), from: session.options.clock()) { return present }
        do throws(TokenKeepError) {
            _ = try session.refresh()
        } catch {
            guard present.lasts(1, from: session.options.clock()) else { throw error }
            return present
        }
        let sealed = try session.sealed()
        guard let renewed = sealed.idToken.map(SessionIDToken.init), renewed.lasts(1, from: session.options.clock())
        else {
            throw TokenKeepError(
                .expired, "the ID token of \(session.name) is over, and the server gave no other with the refresh",
                hint: "sign in again: \(SignInCommand.text(session.name, provider: sealed.provider))")
        }
        return renewed
    }

    private func lasts(_ seconds: UInt32, from now: SessionTime) -> Bool {
        expiresAt.map { $0.rawValue >= now.wall + Int64(seconds) } ?? true
    }
}
