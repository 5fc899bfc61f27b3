/// The reasons, other than a network failure, for which a closure ends its connection. The closure throws them.
public enum ConnectionEnd: Error, Sendable {
    /// The server refused the token, by status 401 or by a close code such as 4401. The next connection uses another
    /// token.
    case refused
    /// The stream ends without an error, and does not connect again.
    case finished
    /// The stream throws this error, and does not connect again.
    case failed(any Error)
}
