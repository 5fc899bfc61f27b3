import Foundation
public import TokenKeep

/// The result of an application's sign-in: the account, the server's tokens and the user.
public struct SignIn<User: Codable & Sendable>: Sendable {
    /// The account; nil for the active account, or if the application has only one account.
    public let account: String?
    /// The token response, a JSON object (RFC 6749 section 5.1).
    public let response: TokenStore.Secret
    /// The user, stored beside the tokens as JSON of at most 64 KiB.
    public let user: User

    /// Makes a sign-in from the server's unchanged token response.
    public init(account: String? = nil, response: TokenStore.Secret, user: User) {
        self.account = account
        self.response = response
        self.user = user
    }

    /// Makes a sign-in from tokens that the application has decoded.
    ///
    /// - Throws: `TokenKeepError` with `io` if guarded memory is exhausted.
    public init(
        account: String? = nil, accessToken: String, refreshToken: String?, expiresIn: Duration?, user: User
    ) throws {
        let tokens = Tokens(
            access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn?.components.seconds)
        try self.init(account: account, response: CodableSecret.encode(tokens), user: user)
    }
}

/// The members of a token response (RFC 6749 section 5.1).
struct Tokens: Encodable {
    let access_token: String
    let refresh_token: String?
    let expires_in: Int64?
}

/// A server's response for a guest: `{"guestToken", "expiresIn", "limitations"}`.
public struct GuestResponse: Codable, Sendable {
    /// The guest's token.
    public let guestToken: String
    /// The lifetime of the token, in seconds; nil if the server does not state it. Then 900 seconds are assumed.
    public let expiresIn: Int?
    /// The limits of the guest, which the server enforces; nil if there are no limits.
    public let limitations: GuestLimitations?

    /// Makes a response, for an application's tests.
    public init(guestToken: String, expiresIn: Int? = nil, limitations: GuestLimitations? = nil) {
        self.guestToken = guestToken
        self.expiresIn = expiresIn
        self.limitations = limitations
    }
}

/// The limits of a guest. The server enforces them; the application shows them.
public struct GuestLimitations: Codable, Sendable, Equatable {
    /// The maximum number of edits in 24 hours; nil for no limit.
    public let maxEditsPerDay: Int?
    /// The names of features that are disabled for guests.
    public let featuresDisabled: [String]

    /// Makes limits.
    public init(maxEditsPerDay: Int?, featuresDisabled: [String] = []) {
        self.maxEditsPerDay = maxEditsPerDay
        self.featuresDisabled = featuresDisabled
    }
}
