/// The kind of a session.
public enum SessionKind: UInt8, Sendable {
    /// A signed-in user.
    case user = 1
    /// A visitor without an account, whose token is never renewed.
    case guest = 2

    /// The word for this kind in records and in output of the program.
    public var word: String { self == .user ? "user" : "guest" }
}

/// The state of a session. The numbers are those of `tokenkeep/session.h`.
public enum SessionState: UInt32, Sendable {
    /// The state cannot be determined, because a module that may have the session's item is unavailable.
    case unknown = 0
    /// The session's item is locked.
    case locked = 1
    /// Nobody is signed in.
    case signedOut = 2
    /// A visitor without an account.
    case guest = 3
    /// A signed-in user.
    case user = 4
    /// The user must sign in again.
    case needsLogin = 5

    /// The word for this state in output of the program.
    public var word: String {
        switch self {
        case .unknown: "unknown"
        case .locked: "locked"
        case .signedOut: "signed-out"
        case .guest: "guest"
        case .user: "user"
        case .needsLogin: "needs-login"
        }
    }
}

/// The reason why a session ended.
public enum SessionReason: UInt32, Sendable {
    /// The session has not ended.
    case none = 0
    /// The user signed out.
    case logout = 1
    /// The server ended the session.
    case remote = 2
    /// The guest's token has expired.
    case guestExpired = 3
    /// The access token has expired, and there is no refresh token.
    case expired = 4
    /// The server refused the refresh token.
    case refused = 5
    /// The answer to a refresh was lost, together with the new refresh token.
    case rotationLost = 6
    /// The session was revoked.
    case revoked = 7
    /// The server requires the user to sign in, to consent or to prove a second factor.
    case interaction = 8
    /// The server answered a refresh with tokens of another user.
    case otherSubject = 9

    /// The word for this reason in output of the program; nil for ``none``.
    public var word: String? {
        switch self {
        case .none: nil
        case .logout: "logout"
        case .remote: "remote"
        case .guestExpired: "guest-expired"
        case .expired: "expired"
        case .refused: "refused"
        case .rotationLost: "rotation-lost"
        case .revoked: "revoked"
        case .interaction: "interaction"
        case .otherSubject: "other-subject"
        }
    }
}

/// A server's treatment of a refresh token after its use.
public enum RotationProfile: Sendable, Equatable {
    /// The server replaces the refresh token. The old one is invalid, and its reuse ends the session.
    case strict
    /// The server replaces the refresh token. The old one stays valid for this number of seconds.
    case overlap(seconds: UInt32)
    /// The server keeps the refresh token valid after its use.
    case none

    /// The word for this profile in output of the program, and in the option `--rotation`.
    public var word: String {
        switch self {
        case .strict: "strict"
        case .overlap(let seconds): "overlap=\(seconds)"
        case .none: "none"
        }
    }
}
