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
    /// The provider and the scope of the sealed record. Those of ``info()`` come from the note, which can be forged.
    ///
    /// - Returns: nil for each if nobody is signed in, or if the record names none.
    /// - Throws: the reason why the record cannot be read.
    package func sealedNames() throws(TokenKeepError) -> (provider: String?, scope: String?) {
        let record = try newCall().read().record
        return (record?.provider, record?.scope)
    }

    /// The ID token of the session; nil if nobody is signed in, or if the server sent none.
    ///
    /// - Throws: the reason why the record cannot be read.
    package func idToken() throws(TokenKeepError) -> SecretBytes? {
        try newCall().read().record?.json["id_token"]?.secret()
    }

    /// An ID token that lasts at least `minTTL` seconds, if the server gives one with a refresh. The session is renewed if
    /// the present token is over, or ends sooner.
    ///
    /// - Throws: as ``token(minTTL:for:)``; ``Status/unsupported`` if the session has no ID token, ``Status/expired`` if the
    ///   token is over and the server gives no other.
    package func freshIDToken(minTTL: UInt32) throws(TokenKeepError) -> SessionIDToken {
        _ = try token()
        guard let present = try idToken().map(SessionIDToken.init) else {
            throw TokenKeepError(
                .unsupported, "the session of \(name) has no ID token", hint: "sign in with the scope openid")
        }
        if present.lasts(max(1, minTTL), from: options.clock()) { return present }
        do throws(TokenKeepError) {
            _ = try refresh()
        } catch {
            guard present.lasts(1, from: options.clock()) else { throw error }
            return present
        }
        guard let renewed = try idToken().map(SessionIDToken.init), renewed.lasts(1, from: options.clock()) else {
            throw TokenKeepError(
                .expired, "the ID token of \(name) is over, and the server gave no other with the refresh",
                hint: "sign in again: \(SignInCommand.text(name, provider: try sealedNames().provider))")
        }
        return renewed
    }
}

extension SessionIDToken {
    fileprivate func lasts(_ seconds: UInt32, from now: SessionTime) -> Bool {
        expiresAt.map { $0.rawValue >= now.wall + Int64(seconds) } ?? true
    }
}
