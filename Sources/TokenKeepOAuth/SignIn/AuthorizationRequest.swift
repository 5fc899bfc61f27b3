package import TokenKeepCore
import TokenKeepSession

/// The rights that a sign-in asks for.
package struct SignInScope: Sendable {
    /// Scopes with spaces between them; nil for those that the server gives by itself.
    package var scope: String?
    /// The resource (RFC 8707); nil for none.
    package var resource: String?
    /// The audience, a parameter of Auth0 and others; nil for none.
    package var audience: String?
    /// Scopes that are asked for beside those of the present session; nil for none.
    package var added: String?
    /// Other parameters of the request, for example `prompt` and `login_hint`, by their names.
    package var parameters: [String: String] = [:]

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
        } + parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    /// The words of scopes.
    static func words(_ scopes: String?) -> [String] {
        (scopes ?? "").utf8.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Checks a parameter's name, and returns the name.
    ///
    /// - Throws: ``Status/invalid`` if the name is malformed, or if the request has the parameter already.
    package static func checked(parameter name: String) throws(TokenKeepError) -> String {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                switch $0 {
                case 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
                default: false
                }
            }
        guard isName else {
            throw TokenKeepError(
                .invalid, "expected a parameter's name of 1 to 64 letters, digits, hyphens, dots and underscores")
        }
        guard !own.contains(name) else {
            throw TokenKeepError(
                .invalid, "TokenKeep itself sets the parameter \(name)",
                hint: "scope, resource and audience have keys and options of their own")
        }
        return name
    }

    private static let own: Set<String> = [
        "response_type", "response_mode", "client_id", "client_secret", "redirect_uri", "state", "nonce",
        "code_challenge",
        "code_challenge_method", "request", "request_uri", "scope", "resource", "audience",
    ]
}

/// A request to the authorization endpoint, which the browser brings there (RFC 6749 section 4.1.1, RFC 7636).
struct AuthorizationRequest {
    let redirect: String
    let verifier: CodeVerifier
    /// 128 random bits, which the answer must repeat.
    let state: SecretBytes
    /// 128 random bits, which the ID token must repeat; nil if none is asked for.
    let nonce: String?
    /// The address for a browser anywhere: the answer to be pasted is in the address to which that browser is sent.
    let address: String
    /// The address for the browser that is opened here. A form leaves no code in its history.
    let openedAddress: String

    init(_ server: SignInServer, _ scope: SignInScope, redirect: String) throws(TokenKeepError) {
        guard let endpoint = server.authorizationEndpoint else {
            throw TokenKeepError(
                .unsupported, "the provider \(server.name) has no authorization_endpoint", hint: "use --flow device")
        }
        self.redirect = redirect
        verifier = try CodeVerifier()
        state = try CodeVerifier.random(16)
        nonce = scope.asksForIdentity ? try CodeVerifier.random(16).utf8String : nil
        var fields = [
            ("response_type", "code"), ("client_id", server.clientID), ("redirect_uri", redirect),
            ("state", state.utf8String ?? ""), ("code_challenge", verifier.challenge),
            ("code_challenge_method", "S256"),
        ]
        fields += scope.fields
        if let nonce { fields.append(("nonce", nonce)) }
        let query = fields.map { "\($0.0)=\(SessionRequest.escaped($0.1))" }.joined(separator: "&")
        address = endpoint.text + (endpoint.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
        openedAddress = address + (server.postsAnswers ? "&response_mode=form_post" : "")
    }
}
