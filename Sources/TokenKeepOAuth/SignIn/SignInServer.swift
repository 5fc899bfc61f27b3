package import TokenKeepCore

/// A server at which users sign in, and the client that is registered there.
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
    /// The server's issuer identifier; nil if unknown, so that the issuer in answers cannot be checked.
    package var issuer: String?
    /// Whether the server's metadata announce that each authorization answer names the issuer (RFC 9207).
    package var promisesIssuer = false
    /// Whether the server sends authorization answers as forms (OAuth 2.0 Form Post Response Mode).
    package var postsAnswers = false
    /// The address for authorization requests; nil if the server has no browser flow.
    package var authorizationEndpoint: WebAddress?
    /// Whether the server supports the device flow (RFC 8628).
    package var hasDeviceFlow = false
    /// Whether the server can revoke tokens (RFC 7009).
    package var canRevoke = false
    /// The redirect address of the provider's file; nil for the default, any port of 127.0.0.1.
    package var redirect: String?
    /// The claims that may name the account. The first claim that is present is used.
    package var accountClaims = ["email", "preferred_username", "sub"]
    /// Requests the claims about an access token's user (OpenID Connect Core section 5.3); nil if the server has no
    /// userinfo endpoint.
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
