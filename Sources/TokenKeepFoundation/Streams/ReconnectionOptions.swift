/// The options of a ``ReconnectingStream``.
public struct ReconnectionOptions: Sendable {
    /// When a connection makes way for one with a newer token.
    public enum Renewal: Sendable, Equatable {
        /// When any process has renewed the token: for servers that end an older token with its successor.
        case afterRefresh
        /// The connection makes way this long before its token ends, but not before half of the token's time: for servers
        /// that cut a connection when its token ends. The token is renewed if no other process renews it. If the end of the
        /// token is not known, the connection stays.
        case beforeEnd(Duration)
        /// When the server refuses the token: for servers that look at it once.
        case whenRefused
    }

    /// The reason for a new connection.
    public enum Cause: Sendable {
        /// There is a newer token.
        case renewed
        /// The server refused the token.
        case refused
        /// The connection ended without an error.
        case closed
        /// The connection, or the request for a token, failed.
        case failed(any Error)
    }

    /// When a connection makes way for one with a newer token.
    public var renewal = Renewal.afterRefresh
    /// The longest pause before a new connection. The first one is a second, each is twice as long as the one before, and all
    /// vary by 20 %. A connection that has lasted this time makes the pauses begin anew.
    public var longestPause = Duration.seconds(60)
    /// Called before each new connection, with its reason and the pause before it.
    public var willReconnect: (@Sendable (_ cause: Cause, _ pause: Duration) -> Void)?
    /// Replaced in tests.
    var clock: any Clock<Duration> = ContinuousClock()

    /// A new connection after each refresh; pauses of up to a minute.
    public init() {}
}
