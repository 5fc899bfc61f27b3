/// The options of a ``ReconnectingStream``.
public struct ReconnectionOptions: Sendable {
    /// The time at which a connection is replaced by a connection with a newer token.
    public enum Renewal: Sendable, Equatable {
        /// After a renewal by any process, for servers that invalidate a token when they issue the next one.
        case afterRefresh
        /// The given time before its token ends, for servers that close a connection when its token ends.
        ///
        /// The connection is kept for at least half of the token's remaining time. The token is renewed if no other
        /// process renews it. If the token's end is unknown, the connection is not replaced.
        case beforeEnd(Duration)
        /// After the server has refused the token, for servers that check the token only when the connection opens.
        case whenRefused
    }

    /// The reason for a new connection.
    public enum Cause: Sendable {
        /// A newer token exists.
        case renewed
        /// The server refused the token.
        case refused
        /// The connection ended without an error.
        case closed
        /// The connection, or the request for a token, failed.
        case failed(any Error)
    }

    /// The time at which a connection is replaced by a connection with a newer token.
    public var renewal = Renewal.afterRefresh
    /// The maximum pause before a new connection.
    ///
    /// The first pause is 1 second, each later pause is twice as long, and all vary by ± 20 %. After a connection that
    /// lasted at least `longestPause`, the pauses begin again with 1 second.
    public var longestPause = Duration.seconds(60)
    /// Called before each new connection, with the reason for the connection and the pause before it; nil to call
    /// nothing.
    public var willReconnect: (@Sendable (_ cause: Cause, _ pause: Duration) -> Void)?
    /// The clock that measures connections and pauses. Tests replace it.
    var clock: any Clock<Duration> = ContinuousClock()

    /// Makes options with a new connection after each renewal of the token, and pauses of up to a minute.
    public init() {}
}
