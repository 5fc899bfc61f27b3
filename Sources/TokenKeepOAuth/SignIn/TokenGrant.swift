import TokenKeepCore
import TokenKeepSession

/// The tokens of a finished sign-in.
struct TokenGrant {
    /// The server's answer, unchanged.
    let response: SecretBytes
    let tokens: TokenResponse
    /// The reason why no session can begin with the tokens; nil if a session can begin. If there is a reason, the
    /// caller should revoke the tokens.
    let fault: TokenKeepError?
    /// The server's time when it answered, in Unix seconds. It is used because this machine's clock may be wrong.
    let serverTime: Int64
    /// The server's clock minus the wall clock, in seconds.
    let offset: Int64
    /// The nonce that the ID token must repeat; nil if the request had none.
    var nonce: String?

    /// Redeems an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
    ///
    /// - Throws: ``Status/denied`` if the server refuses the code; otherwise the errors of the request and of
    ///   ``grant(_:of:)``.
    static func redeem(
        _ code: SecretBytes, of request: AuthorizationRequest, _ scope: SignInScope, _ server: SignInServer,
        until deadline: Deadline
    ) throws(TokenKeepError) -> TokenGrant {
        var fields = [
            ("grant_type", try SecretBytes("authorization_code")), ("code", code),
            ("redirect_uri", try SecretBytes(request.redirect)), ("code_verifier", request.verifier.secret),
        ]
        if let resource = scope.resource { fields.append(("resource", try SecretBytes(resource))) }
        var grant = try grant(server.post(.token, fields, deadline), of: "the sign-in's code")
        grant.nonce = request.nonce
        return grant
    }

    /// Parses the answer of the token endpoint.
    ///
    /// - Throws: the error for the server's refusal; ``Status/unavailable`` if the answer has no tokens.
    static func grant(_ answer: HTTPResponse, of step: String) throws(TokenKeepError) -> TokenGrant {
        guard (200...299).contains(answer.status) else { throw ServerRefusal.error(answer, of: step) }
        let (tokens, fault): (TokenResponse, TokenKeepError?)
        do throws(TokenKeepError) {
            (tokens, fault) = try answer.body.withUnsafeBytes { bytes throws(TokenKeepError) in
                try TokenResponse.signIn(bytes)
            }
        } catch {
            // Some servers send errors with status 200.
            guard !ServerRefusal.code(of: answer).isEmpty else {
                // The user made no mistake, so ``Status/invalid`` would mislead.
                guard error.status == .invalid else { throw error }
                throw ServerRefusal.strange("the server's answer to \(step) cannot be used: \(error.message)")
            }
            throw ServerRefusal.error(answer, of: step)
        }
        let clock = HTTPDate.serverClock(answer.date, wall: SessionTime.now.wall)
        return TokenGrant(
            response: answer.body, tokens: tokens, fault: fault.map { unusable($0, of: step) },
            serverTime: clock.time, offset: clock.offset)
    }

    /// The error for tokens with which no session can begin. The user made no mistake, so ``Status/invalid`` would
    /// mislead.
    private static func unusable(_ fault: TokenKeepError, of step: String) -> TokenKeepError {
        guard fault.status == .invalid else { return fault }
        return TokenKeepError(
            .unsupported, "the server's answer to \(step) cannot be used: \(fault.message)", module: "server",
            hint: "sign in with a client for which the server gives Bearer tokens")
    }
}
