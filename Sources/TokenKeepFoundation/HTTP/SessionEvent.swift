/// An event of a session's requests that the application should show to its user.
public enum SessionEvent: Sendable, Equatable {
    /// The user must sign in, because nobody is signed in or the server also refused the renewed token.
    case authenticationRequired
    /// The server accepts no more requests for now.
    case rateLimitExceeded(RateLimit)
    /// The session has ended, and the user must sign in again.
    case sessionExpired
}
