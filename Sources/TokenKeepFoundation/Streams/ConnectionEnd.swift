/// The reason with which a closure ends a connection without a network failure. The closure throws it.
public enum ConnectionEnd: Error, Sendable {
    /// The server refused the token, by status 401 or by a close code such as 4401. The next connection uses another
    /// token.
    case refused
    /// The stream ends without an error. No connection follows.
    case finished
    /// No connection follows, and the stream throws this error.
    case failed(any Error)
}
