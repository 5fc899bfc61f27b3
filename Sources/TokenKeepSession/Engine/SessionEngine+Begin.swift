public import TokenKeepCore

extension SessionEngine {
    /// Begins a session with the server's token response, as it came. A present session of the account is replaced by
    /// one write; a guest so becomes a user.
    ///
    /// The first session of a service becomes the active one.
    ///
    /// - Parameter revokesReplaced: whether the token of the replaced session is put into the outbox, to be revoked at
    ///   the server. A replaced session that cannot be read is not revoked.
    /// - Throws: ``Status/invalid`` or ``Status/unsupported`` for a response that is none; nothing has changed then.
    public func begin(
        _ kind: SessionKind, response: SecretBytes, revokesReplaced: Bool = false
    ) throws(TokenKeepError) {
        try begin(kind, response: response, revokesReplaced: revokesReplaced, signInSince: nil)
    }

    /// ``begin(_:response:revokesReplaced:)`` at the end of a sign-in.
    ///
    /// - Parameter start: what the sign-in found at its beginning. The tokens of a session that another sign-in has begun
    ///   since are put into the outbox; nil for none.
    package func begin(
        _ kind: SessionKind, response: SecretBytes, revokesReplaced: Bool, signInSince start: SignInStart?
    ) throws(TokenKeepError) {
        let tokens = try response.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenResponse.strict(bytes) }
        try newCall().begin(kind, tokens, isFromServer: true) { replaced in
            let isRival = start.map {
                SignInRules.isRival(replaced.epoch, replaced.generation, replaced.life.obtained, since: $0)
            }
            return revokesReplaced || isRival == true
        }
    }

    /// Whether ``begin(_:response:revokesReplaced:)``, which failed, has certainly left no session with a token: then the
    /// token may be revoked.
    package func hasCertainlyNot(begunWith token: SecretBytes, after failure: TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            let facts = try storage.read(
                CallContext(deadline: Deadline(milliseconds: options.timeoutMilliseconds)))
            return [facts.record, facts.foreign?.record].allSatisfy { $0?.accessToken != token }
        } catch {
            // A place that refused the record has not got it.
            return error.status == .locked && failure.status == .locked
        }
    }

    /// Begins a user's session with a bare access token, which cannot be renewed. A byte order mark, white space and the
    /// word `Bearer` around the token are left out.
    ///
    /// - Throws: ``Status/invalid`` if the rest is empty, or has characters that no token has.
    public func begin(rawToken: SecretBytes) throws(TokenKeepError) {
        guard let token = try TokenResponse.bareToken(rawToken) else {
            throw TokenKeepError(
                .invalid, "the token is empty, or has characters that no token has",
                hint: "pass on the token alone: no quotes, no JSON, no header")
        }
        try newCall().begin(.user, TokenResponse(accessToken: token, refreshToken: nil, expiresIn: nil))
    }

    /// Begins a user's session with tokens from elsewhere. Both must be given.
    ///
    /// - Parameter expiresIn: seconds; nil if unknown.
    /// - Throws: ``Status/invalid`` if a token is empty or malformed.
    public func hydrate(
        accessToken: SecretBytes, refreshToken: SecretBytes, expiresIn: Int64?
    ) throws(TokenKeepError) {
        guard TokenResponse.isToken(accessToken), TokenResponse.isToken(refreshToken) else {
            throw TokenKeepError(.invalid, "both tokens must be given, without control characters")
        }
        if let expiresIn, expiresIn < 0 { throw TokenKeepError(.invalid, "expires_in is negative") }
        try newCall().begin(
            .user, TokenResponse(accessToken: accessToken, refreshToken: refreshToken, expiresIn: expiresIn))
    }
}
