package import TokenKeepCore

/// A server, with the client that requests sign-ins there.
package struct SignInServer: Sendable {
    /// The endpoints to which a sign-in posts forms.
    package enum Endpoint: Sendable {
        case token
        /// The token endpoint, polled while the user approves on another device.
        case polling
        case deviceAuthorization
        case revocation
    }

    /// The provider's name, for messages.
    package let name: String
    package let clientID: String
    /// The server's issuer; nil if it is unknown, so that it cannot be checked.
    package var issuer: String?
    /// Whether the server's metadata promise that each answer names the issuer (RFC 9207).
    package var promisesIssuer = false
    /// Whether the server can send its answers as forms (OAuth 2.0 Form Post Response Mode).
    package var postsAnswers = false
    /// The address for authorization requests; nil if the server has no browser flow.
    package var authorizationEndpoint: WebAddress?
    /// Whether the server supports the device flow (RFC 8628).
    package var hasDeviceFlow = false
    /// Whether the server can revoke tokens (RFC 7009).
    package var canRevoke = false
    /// The redirect address of the provider's file; nil for the default, any port of 127.0.0.1.
    package var redirect: String?
    /// The claims that may name the account. The first one present is used.
    package var accountClaims = ["email", "preferred_username", "sub"]
    /// Requests the user of an access token (OpenID Connect Core section 5.3); nil if the server has no such endpoint.
    package var askUserinfo: (@Sendable (SecretBytes, Deadline) throws(TokenKeepError) -> HTTPResponse)?
    /// Posts a form, together with the client's id and secret, to an endpoint.
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
