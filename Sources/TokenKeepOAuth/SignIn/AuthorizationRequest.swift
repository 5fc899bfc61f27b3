package import TokenKeepCore
import TokenKeepSession

/// The rights that a sign-in requests.
package struct SignInScope: Sendable {
    /// The requested scopes, separated by spaces; nil for the server's default scopes.
    package var scope: String?
    /// The resource (RFC 8707); nil to send no resource.
    package var resource: String?
    /// The audience, a parameter of Auth0 and other servers; nil to send no audience.
    package var audience: String?
    /// The scopes to be added to the scopes of the present session; nil to add none.
    package var added: String?
    /// Other parameters of the request, by name, for example `prompt` and `login_hint`.
    package var parameters: [String: String] = [:]

    package init(scope: String? = nil, resource: String? = nil, audience: String? = nil) {
        self.scope = scope
        self.resource = resource
        self.audience = audience
    }

    /// Whether the scope requests an ID token, which names the account.
    package var asksForIdentity: Bool {
        scope?.utf8.split(separator: 0x20).contains { $0.elementsEqual("openid".utf8) } ?? false
    }

    var fields: [(name: String, value: String)] {
        [("scope", scope), ("resource", resource), ("audience", audience)].compactMap { name, value in
            value.map { (name, $0) }
        } + parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    /// Splits a list of scopes. They are separated by spaces (RFC 6749 section 3.3), or only by commas, as in GitHub's
    /// answers.
    static func words(_ scopes: String?) -> [String] {
        let scopes = (scopes ?? "").utf8
        let separator = UInt8(ascii: scopes.contains(0x20) ? " " : ",")
        return scopes.split(separator: separator).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Compares requested with granted scopes, without regard to their order.
    ///
    /// A refresh token shows that `offline_access` was granted, which some servers do not list. Google writes `email`
    /// and `profile` as URLs, which count as the same scopes.
    static func difference(
        asked: String?, granted: String?, hasRefreshToken: Bool
    ) -> (missing: [String], unasked: [String]) {
        let (asked, granted) = (words(asked), words(granted))
        let (askedNames, grantedNames) = (Set(asked.map(shortName)), Set(granted.map(shortName)))
        return (
            missing: asked.filter {
                !grantedNames.contains(shortName($0)) && !(hasRefreshToken && $0 == "offline_access")
            },
            unasked: granted.filter { !askedNames.contains(shortName($0)) }
        )
    }

    private static func shortName(_ scope: String) -> String {
        switch scope {
        case "https://www.googleapis.com/auth/userinfo.email": "email"
        case "https://www.googleapis.com/auth/userinfo.profile": "profile"
        default: scope
        }
    }

    /// Returns the name of an additional parameter, after checking that it is allowed.
    ///
    /// - Throws: ``Status/invalid`` if the name is malformed, or if TokenKeep sets that parameter itself.
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

/// A request for a sign-in, which the browser sends to the authorization endpoint (RFC 6749 section 4.1.1, RFC 7636).
struct AuthorizationRequest {
    let redirect: String
    let verifier: CodeVerifier
    /// 128 random bits in base64url, which the answer must repeat.
    let state: SecretBytes
    /// 128 random bits in base64url, which the ID token must repeat; nil if no ID token is requested.
    let nonce: String?
    /// The address of the request for a browser on any machine. The answer to it comes in a query, so that the user can
    /// paste it.
    let address: String
    /// The address of the request for the browser on this machine. If the server supports it, the answer comes as a
    /// form, so that the browser's history contains no code.
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
