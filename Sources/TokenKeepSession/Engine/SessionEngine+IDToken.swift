package import TokenKeepCore

/// An ID token (OpenID Connect Core section 2), as the server last sent it.
package struct SessionIDToken: Sendable {
    package let value: SecretBytes
    /// The time at which the token expires; nil if it names none.
    package let expiresAt: UnixTime?

    init(_ value: SecretBytes) {
        self.value = value
        let end = UnverifiedClaims(unverified: value)?.seconds("exp")
        expiresAt = end.map { UnixTime($0) }
    }
}

extension SessionEngine {
    /// Returns provider, scope and ID token from the sealed record. ``info()`` takes its names from the note, which can
    /// be forged.
    ///
    /// - Returns: nil for each of them if nobody is signed in, or if the record does not have it.
    /// - Throws: the errors of reading the record.
    package func sealed() throws(TokenKeepError) -> (provider: String?, scope: String?, idToken: SecretBytes?) {
        let record = try newCall().read().record
        return (record?.provider, record?.scope, try record?.json["id_token"]?.secret())
    }
}

extension SessionIDToken {
    /// Returns an ID token that is valid for `minTTL` seconds, if the server sends ID tokens with a refresh. Renews the
    /// session if the present ID token has expired or expires sooner.
    ///
    /// - Throws: the errors of ``token(minTTL:for:)``; ``Status/unsupported`` if the session has no ID token;
    ///   ``Status/expired`` if the ID token has expired and the server sends no new one.
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
