public import Foundation

/// A type of tokens that may contain a refresh token besides the access token.
public protocol RefreshableToken {
    /// The refresh token; empty if the server gave none.
    var refreshToken: String { get }
}

/// The tokens of an OAuth server, in a form that many applications store.
///
/// The JSON is `{"accessToken", "refreshToken", "expiresAt"}`. A `TokenSession` can take over an item with this JSON.
public struct OAuthToken: Codable, Sendable, Equatable, RefreshableToken, CustomStringConvertible {
    /// The access token.
    public let accessToken: String
    /// The refresh token; empty if the server gave none.
    public let refreshToken: String
    /// The time at which the access token expires, in whole seconds since 1970.
    public let expiresAt: TimeInterval

    /// Makes a token. Rounds `expiresAt` down to whole seconds.
    public init(accessToken: String, refreshToken: String, expiresAt: TimeInterval) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt.rounded(.down)
    }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
}

extension OAuthToken: CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var debugDescription: String { description }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
