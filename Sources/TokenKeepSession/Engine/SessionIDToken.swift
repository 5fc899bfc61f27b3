package import TokenKeepCore

/// An ID token (OpenID Connect Core section 2), as the server last sent it.
package struct SessionIDToken: Sendable {
    package let value: SecretBytes
    /// The time at which the ID token expires; nil if the ID token has no claim `exp`.
    package let expiresAt: UnixTime?
    /// The lifetime of the session's access token.
    private let access: TokenLife
    /// The remaining lifetime of the ID token when it was returned, in seconds; nil if unknown.
    package private(set) var secondsLeft: Int64?
    /// Whether the token expires sooner than the caller asked for.
    package private(set) var isShort = false
    /// The seconds from the session's last renewal to the end of the token; nil if unknown.
    package private(set) var lifetime: Int64?

    fileprivate init(_ value: SecretBytes, _ access: TokenLife) {
        self.value = value
        self.access = access
        expiresAt = UnverifiedClaims(unverified: value)?.seconds("exp").map { UnixTime($0) }
    }

    /// The seconds until the token expires by the server's clock: 0 if it has expired, nil if unknown.
    private func left(at now: SessionTime) -> Int64? {
        guard let end = expiresAt?.rawValue else { return nil }
        let serverTime = now.wall.addingReportingOverflow(access.offset)
        let left = end.subtractingReportingOverflow(serverTime.partialValue)
        return serverTime.overflow || left.overflow ? nil : max(0, left.partialValue)
    }

    private func lifetime(at now: SessionTime) -> Int64? {
        guard let sum = left(at: now)?.addingReportingOverflow(access.age(at: now)), !sum.overflow else { return nil }
        return sum.partialValue
    }

    /// Whether the session was renewed so recently that another renewal would not give an ID token that lasts longer.
    private func isYoung(at now: SessionTime) -> Bool {
        TokenLife(obtained: access.obtained, lifetime: lifetime(at: now)).isYoung(at: now)
    }
}

/// The members of a session's sealed record that other targets of this package read.
package struct SealedSession {
    package let provider: String?
    package let scope: String?
    /// The last readable ID token.
    package let idToken: SecretBytes?
    /// The person to whom the session belongs, according to its ID tokens.
    package let identity: TokenIdentity?
    /// The lifetime of the access token.
    let life: TokenLife?
}

extension SessionEngine {
    /// Returns provider, scope, ID token and person from the sealed record. ``info()`` reads provider and scope from
    /// the note instead, which can be forged.
    ///
    /// - Returns: a value in which each member is nil if nobody is signed in, or if the record lacks that member.
    /// - Throws: the errors of reading the record.
    package func sealed() throws(TokenKeepError) -> SealedSession {
        let record = try newCall().read().record
        return SealedSession(
            provider: record?.provider, scope: record?.scope, idToken: try record?.json["id_token"]?.secret(),
            identity: record?.identity, life: record?.life)
    }
}

extension SessionIDToken {
    /// Returns an ID token that is valid for `minTTL` seconds, if the server sends ID tokens with a refresh. Renews the
    /// session if the present ID token has expired or expires sooner, unless the session was renewed just before.
    ///
    /// - Throws: the errors of ``token(minTTL:for:)``; ``Status/unsupported`` if the session has no ID token;
    ///   ``Status/expired`` if the ID token has expired and the server sends no new one.
    package static func fresh(of session: SessionEngine, minTTL: UInt32) throws(TokenKeepError) -> SessionIDToken {
        _ = try session.token()
        guard let present = try session.sealed().present else {
            throw TokenKeepError(
                .unsupported, "the session of \(session.name) has no ID token", hint: "sign in with the scope openid")
        }
        let (now, wanted) = (session.options.clock(), Int64(max(1, minTTL)))
        let left = present.left(at: now) ?? wanted
        // Without the check of the age, each call would ask a server whose ID tokens always last less than minTTL.
        if left >= wanted || left > 0 && present.isYoung(at: now) { return present.returned(at: now, wanted) }
        do throws(TokenKeepError) {
            _ = try session.refresh()
        } catch {
            let now = session.options.clock()
            guard present.left(at: now) != 0 else { throw error }
            return present.returned(at: now, wanted)
        }
        return try renewed(session, wanted)
    }

    private static func renewed(_ session: SessionEngine, _ wanted: Int64) throws(TokenKeepError) -> SessionIDToken {
        let sealed = try session.sealed()
        let now = session.options.clock()
        guard let renewed = sealed.present, renewed.left(at: now) != 0 else {
            throw TokenKeepError(
                .expired, "the ID token of \(session.name) is over, and the server gave no other with the refresh",
                hint: "sign in again: \(SignInCommand.text(session.name, provider: sealed.provider))")
        }
        return renewed.returned(at: now, wanted)
    }

    private func returned(at now: SessionTime, _ wanted: Int64) -> SessionIDToken {
        var token = self
        token.secondsLeft = left(at: now)
        token.lifetime = lifetime(at: now)
        token.isShort = token.secondsLeft.map { $0 < wanted } ?? false
        return token
    }
}

extension SealedSession {
    /// The ID token; nil if the session has none.
    fileprivate var present: SessionIDToken? { idToken.flatMap { token in life.map { SessionIDToken(token, $0) } } }
}
