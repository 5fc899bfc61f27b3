import TokenKeepCore
import TokenKeepSession

/// Checks ID tokens (OpenID Connect Core with errata set 2, section 3.1.3.7).
///
/// The signature is not checked, because the token came from the token endpoint over TLS, and this already proves the
/// issuer.
enum IDTokenCheck {
    /// The time, in seconds, after its expiry for which an ID token is still accepted, because clocks may differ.
    private static let leeway: Int64 = 300

    /// Checks the claims of a response's ID token.
    ///
    /// - Parameter now: the server's time, in Unix seconds. The token is accepted if it is valid by this time or by
    ///   this machine's clock, because a gateway may have set a wrong header Date.
    /// - Returns: the claims; nil if the response has no ID token.
    /// - Throws: ``Status/denied`` if a claim is wrong, naming the claim, or if a required ID token is missing or
    ///   unreadable.
    static func claims(
        of token: SecretBytes?, _ server: SignInServer, nonce: String?, now: Int64
    ) throws(TokenKeepError) -> UnverifiedClaims? {
        guard let token else {
            guard nonce == nil else { throw denied("the server sent no ID token, which openid asks for") }
            return nil
        }
        guard let claims = UnverifiedClaims(unverified: token) else { throw denied("the ID token is unreadable") }
        if let issuer = server.issuer {
            try expect(claims.unverified("iss").map(TokenIdentity.fullIssuer), issuer, "iss")
        }
        let audiences = claims.texts("aud")
        guard audiences.contains(where: { PlainText.areSame($0, server.clientID) }) else {
            let found = audiences.map(PlainText.printable).joined(separator: " ")
            throw denied(
                audiences.isEmpty
                    ? "the ID token names nobody for whom it is (aud), expected \(server.clientID)"
                    : "the ID token is for \"\(found)\", expected \(server.clientID)")
        }
        // Since errata set 2, a token with several audiences need not have the claim azp, so it is checked only if
        // present.
        if let party = claims.unverified("azp"), !party.isEmpty { try expect(party, server.clientID, "azp") }
        try checkEnd(of: claims, now: now)
        if let nonce { try expect(claims.unverified("nonce"), nonce, "nonce") }
        return claims
    }

    private static func checkEnd(of claims: UnverifiedClaims, now: Int64) throws(TokenKeepError) {
        guard let end = claims.seconds("exp"), end > 0 else {
            throw denied("the ID token does not say when it ends (exp)")
        }
        let wall = SessionTime.now.wall
        guard end <= min(now, wall) - leeway else { return }
        let clocks =
            (now - wall).magnitude > leeway.magnitude
            ? "since \(now - end) s by the server's clock (the header Date), since \(wall - end) s by this machine's"
            : "since \(wall - end) s by this machine's clock"
        throw denied("the ID token is over, \(clocks); a clock may be wrong")
    }

    private static func expect(_ found: String?, _ expected: String, _ claim: String) throws(TokenKeepError) {
        guard PlainText.areSame(found, expected) else {
            let found = found.map { "\"\(PlainText.printable($0))\"" } ?? "missing"
            throw denied("\(claim) of the ID token is \(found), expected \"\(expected)\"")
        }
    }

    private static func denied(_ message: String) -> TokenKeepError {
        TokenKeepError(.denied, message, hint: "the present session is unchanged; another server may have answered")
    }
}
