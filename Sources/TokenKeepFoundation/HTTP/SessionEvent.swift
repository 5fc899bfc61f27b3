/// An event of a session's requests, which an application shows to its user.
public enum SessionEvent: Sendable, Equatable {
    /// The user must sign in: nobody is signed in, or the server refused the renewed token, too.
    case authenticationRequired
    /// The server accepts no more requests for now.
    case rateLimitExceeded(RateLimit)
    /// The session is over, and the user must sign in again.
    case sessionExpired
}
