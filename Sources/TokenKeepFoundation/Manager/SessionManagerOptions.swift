public import Foundation
public import FoundationNetworking
public import TokenKeep

/// The options of a ``SessionManager``.
public struct SessionManagerOptions: Sendable {
    /// The options of each session: the transport that asks the server, the rotation, `validates` for the heartbeat.
    public var session = TokenSession.Options()
    /// The origins to which requests have the token. Each origin is https, or http on this machine.
    public var origins: [URL] = []
    /// The URLSession whose configuration the requests use.
    public var urlSession: URLSession = .shared
    /// The level of requests that wait in the offline queue.
    public var queueLevel = TokenItem.Accessibility.afterFirstUnlock
    /// The data that a logout deletes.
    public var cleanup = LogoutCleanup()
    /// Whether tokens are renewed ahead of time while the manager lives.
    public var renewsAhead = true

    /// Makes options: no transport, no origins, the shared URLSession, cache and cookies.
    public init() {}
}
