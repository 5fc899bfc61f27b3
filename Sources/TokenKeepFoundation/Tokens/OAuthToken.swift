public import Foundation

/// A token that may have a refresh token beside the access token.
public protocol RefreshableToken {
    /// The refresh token; empty if there is none.
    var refreshToken: String { get }
}

/// The tokens of an OAuth server, as many applications keep them.
///
/// As JSON it is `{"accessToken", "refreshToken", "expiresAt"}`, which `TokenSession` takes over as a session.
public struct OAuthToken: Codable, Sendable, Equatable, RefreshableToken, CustomStringConvertible {
    /// The access token.
    public let accessToken: String
    /// The refresh token; empty if there is none.
    public let refreshToken: String
    /// The end of the access token, in whole seconds since 1970.
    public let expiresAt: TimeInterval

    /// Makes a token. A part of a second in `expiresAt` is dropped.
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
