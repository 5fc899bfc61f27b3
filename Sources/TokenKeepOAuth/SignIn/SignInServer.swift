package import TokenKeepCore

/// A server and the client that signs in there.
package struct SignInServer: Sendable {
    /// The endpoints that a sign-in posts forms to.
    package enum Endpoint: Sendable {
        case token
        /// The token endpoint, asked again and again while the user approves on another device.
        case polling
        case deviceAuthorization
        case revocation
    }

    /// The provider's name, for messages.
    package let name: String
    package let clientID: String
    /// The server's issuer; nil if it is not known, so that it cannot be compared.
    package var issuer: String?
    /// Whether the server's metadata promise an issuer in each answer (RFC 9207).
    package var promisesIssuer = false
    /// Whether the server sends its answers as forms (OAuth 2.0 Form Post Response Mode).
    package var postsAnswers = false
    /// The address for authorization requests; nil if the server has no browser flow.
    package var authorizationEndpoint: WebAddress?
    /// Whether the server has the device flow (RFC 8628).
    package var hasDeviceFlow = false
    /// Whether the server revokes tokens (RFC 7009).
    package var canRevoke = false
    /// The redirect address of the provider's file; nil for any port of 127.0.0.1.
    package var redirect: String?
    /// The claims that name the account, in this order.
    package var accountClaims = ["email", "preferred_username", "sub"]
    /// Asks the server about the user of an access token (OpenID Connect Core 5.3); nil if it has no such endpoint.
    package var askUserinfo: (@Sendable (SecretBytes, Deadline) throws(TokenKeepError) -> HTTPResponse)?
    /// Posts a form with the client's authentication.
    package let post: @Sendable (Endpoint, [(String, SecretBytes)], Deadline) throws(TokenKeepError) -> HTTPResponse

    package init(
        name: String, clientID: String,
        post:
            @escaping @Sendable (Endpoint, [(String, SecretBytes)], Deadline) throws(TokenKeepError) -> HTTPResponse
    ) {
        self.name = name
        self.clientID = clientID
        self.post = post
    }
}
