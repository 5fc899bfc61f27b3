import TokenKeepCore
import TokenKeepSession

/// The rights that a sign-in asks for.
package struct SignInScope: Sendable {
    /// Scopes with spaces between them; nil for those that the server gives by itself.
    package var scope: String?
    /// The resource (RFC 8707); nil for none.
    package var resource: String?
    /// The audience, a parameter of Auth0 and others; nil for none.
    package var audience: String?

    package init(scope: String? = nil, resource: String? = nil, audience: String? = nil) {
        self.scope = scope
        self.resource = resource
        self.audience = audience
    }

    /// Whether an ID token is asked for, which names the account.
    package var asksForIdentity: Bool {
        scope?.utf8.split(separator: 0x20).contains { $0.elementsEqual("openid".utf8) } ?? false
    }

    var fields: [(name: String, value: String)] {
        [("scope", scope), ("resource", resource), ("audience", audience)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }
}

/// A request to the authorization endpoint, which the browser brings there (RFC 6749 section 4.1.1, RFC 7636).
struct AuthorizationRequest {
    let redirect: String
    let verifier: CodeVerifier
    /// 128 random bits, which the answer must repeat.
    let state: SecretBytes
    /// 128 random bits, which the ID token must repeat; nil if none is asked for.
    let nonce: String?
    /// The address for the browser.
    let address: String

    init(_ server: SignInServer, _ scope: SignInScope, redirect: String) throws(TokenKeepError) {
        guard let endpoint = server.authorizationEndpoint else {
            throw TokenKeepError(
                .unsupported, "the provider \(server.name) has no authorization_endpoint", hint: "use --flow device")
        }
        self.redirect = redirect
        verifier = try CodeVerifier()
        state = try Base64URL.random(16)
        nonce = scope.asksForIdentity ? try Base64URL.random(16).utf8String : nil
        var fields = [
            ("response_type", "code"), ("client_id", server.clientID), ("redirect_uri", redirect),
            ("state", state.utf8String ?? ""), ("code_challenge", verifier.challenge),
            ("code_challenge_method", "S256"),
        ]
        fields += scope.fields
        if let nonce { fields.append(("nonce", nonce)) }
        let query = fields.map { "\($0.0)=\(SessionRequest.escaped($0.1))" }.joined(separator: "&")
        address = endpoint.text + (endpoint.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
    }
}
