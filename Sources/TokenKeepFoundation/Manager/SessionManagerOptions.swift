public import Foundation
public import FoundationNetworking
public import TokenKeep

/// The options of a ``SessionManager``.
public struct SessionManagerOptions: Sendable {
    /// The options of each session, for example its transport, its rotation and `validates` for the heartbeat.
    public var session = TokenSession.Options()
    /// The origins to which requests are sent with the token. Each origin is https, or http on this machine.
    public var origins: [URL] = []
    /// The URLSession whose configuration the requests use.
    public var urlSession: URLSession = .shared
    /// The accessibility level of the requests in the offline queue.
    public var queueLevel = TokenItem.Accessibility.afterFirstUnlock
    /// The data that a logout deletes.
    public var cleanup = LogoutCleanup()
    /// Whether tokens are renewed before they expire, while the manager exists.
    public var renewsAhead = true

    /// Makes options without a transport and without origins. Requests use the shared URLSession; a logout empties the
    /// shared cache and cookies.
    public init() {}
}
