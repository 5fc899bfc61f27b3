/// An end of a connection that a ``ReconnectingStream`` does not treat as a failure of the network. The closure throws it.
public enum ConnectionEnd: Error, Sendable {
    /// The server refused the token: status 401 to the upgrade, or a close code that means so, as 4401 does at some servers. The
    /// next connection has another token.
    case refused
    /// The stream is done. No connection follows.
    case finished
    /// No connection follows, and the stream throws this error.
    case failed(any Error)
}
