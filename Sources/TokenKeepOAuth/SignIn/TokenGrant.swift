import TokenKeepCore
import TokenKeepSession

/// The tokens of a finished sign-in.
struct TokenGrant {
    /// The server's answer, unchanged.
    let response: SecretBytes
    let tokens: TokenResponse
    /// The time by the server's clock, in Unix seconds, because this machine's clock may be wrong.
    let serverTime: Int64
    /// The nonce that the ID token must repeat; nil if the request had none.
    var nonce: String?

    /// Redeems an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
    ///
    /// - Throws: ``Status/denied`` if the server refuses the code.
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
    static func grant(_ answer: HTTPResponse, of step: String) throws(TokenKeepError) -> TokenGrant {
        guard (200...299).contains(answer.status) else { throw ServerRefusal.error(answer, of: step) }
        let tokens: TokenResponse
        do throws(TokenKeepError) {
            tokens = try answer.body.withUnsafeBytes { bytes throws(TokenKeepError) in
                try TokenResponse.strict(bytes)
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
        return TokenGrant(
            response: answer.body, tokens: tokens,
            serverTime: HTTPDate.seconds(answer.date) ?? SessionTime.now.wall)
    }
}
