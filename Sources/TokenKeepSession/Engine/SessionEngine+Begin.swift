public import TokenKeepCore

extension SessionEngine {
    /// Begins a session with a token response, passed on as the server sent it. Replaces the account's present session
    /// in one write; in this way a guest becomes a user.
    ///
    /// The first session of a service makes its account the active one.
    ///
    /// - Parameter revokesReplaced: whether the token of the replaced session is added to the outbox, to be revoked at
    ///   the server. If the replaced session is unreadable, its token is not revoked.
    /// - Throws: ``Status/invalid`` or ``Status/unsupported``, with nothing changed, if the response is no usable token
    ///   response.
    public func begin(
        _ kind: SessionKind, response: SecretBytes, revokesReplaced: Bool = false
    ) throws(TokenKeepError) {
        let tokens = try response.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenResponse.strict(bytes) }
        try begin(kind, tokens, revokesReplaced: revokesReplaced, signInSince: nil)
    }

    /// Begins a session at the end of a sign-in, as ``begin(_:response:revokesReplaced:)`` does.
    ///
    /// - Parameters:
    ///   - start: the account's session at the beginning of the sign-in. If another sign-in began a session after that,
    ///     the tokens of that session are queued for revocation. nil to queue none.
    ///   - offset: the server's clock minus the wall clock, in seconds.
    package func begin(
        _ kind: SessionKind, _ tokens: TokenResponse, revokesReplaced: Bool, signInSince start: SignInStart?,
        offset: Int64 = 0
    ) throws(TokenKeepError) {
        try newCall().begin(kind, tokens, isFromServer: true, offset: offset) { replaced in
            let isRival = start.map {
                SignInRules.isRival(replaced.epoch, replaced.generation, replaced.life.obtained, since: $0)
            }
            return revokesReplaced || isRival == true
        }
    }

    /// Whether a failed ``begin(_:response:revokesReplaced:)`` has certainly saved no session with this access token,
    /// so that the token may be revoked.
    package func hasCertainlyNot(begunWith token: SecretBytes, after failure: TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            let facts = try storage.read(
                CallContext(deadline: Deadline(milliseconds: options.timeoutMilliseconds)))
            return [facts.record, facts.foreign?.record].allSatisfy { $0?.accessToken != token }
        } catch {
            // The save failed because the item was locked, and the item is still locked, so no record was saved
            // meanwhile.
            return error.status == .locked && failure.status == .locked
        }
    }

    /// Begins a user's session with an access token alone. Such a session cannot be renewed. Removes a byte order mark,
    /// white space and the word `Bearer` around the token.
    ///
    /// - Throws: ``Status/invalid`` if the token is empty, or contains a character that is not allowed in tokens.
    public func begin(rawToken: SecretBytes) throws(TokenKeepError) {
        guard let token = try TokenResponse.bareToken(rawToken) else {
            throw TokenKeepError(
                .invalid, "the token is empty, or has characters that no token has",
                hint: "pass on the token alone: no quotes, no JSON, no header")
        }
        try newCall().begin(.user, TokenResponse(accessToken: token, refreshToken: nil, expiresIn: nil))
    }

    /// Begins a user's session with an access token and a refresh token from another source.
    ///
    /// - Parameter expiresIn: the lifetime of the access token in seconds; nil if unknown.
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
