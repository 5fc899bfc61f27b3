// FoundationEssentials is imported for Date. libtokenkeep.so does not link this target, and so links no Foundation.
public import FoundationEssentials
import TokenKeepSession

extension TokenSession {
    /// The kind of a session.
    public enum Kind: Sendable {
        /// A signed-in user.
        case user
        /// A visitor without an account. The token lasts 15 minutes unless the response states a lifetime, and is never
        /// renewed.
        case guest

        var core: SessionKind { self == .user ? .user : .guest }
    }

    /// The state of a session. The raw values are those of the C API.
    public enum State: UInt32, Sendable {
        /// The state is unknown, because a module that may hold the session cannot be reached.
        case unknown = 0
        /// The module that holds the session is locked.
        case locked = 1
        /// Nobody is signed in.
        case signedOut = 2
        /// A visitor without an account.
        case guest = 3
        /// A signed-in user.
        case user = 4
        /// The user must sign in again.
        case needsLogin = 5

        init(_ core: SessionState) { self = State(rawValue: core.rawValue) ?? .unknown }
    }

    /// The reason why a session ended. The raw values are those of the C API.
    public enum Reason: UInt32, Sendable {
        /// The session has not ended.
        case none = 0
        /// The user signed out.
        case logout = 1
        /// The server ended the session.
        case remote = 2
        /// The guest's token expired.
        case guestExpired = 3
        /// The token expired, and there is no refresh token.
        case expired = 4
        /// The server refused the refresh token.
        case refused = 5
        /// The answer with the new refresh token was lost.
        case rotationLost = 6
        /// The session was revoked.
        case revoked = 7
        /// The server requires the user to sign in, to consent or to confirm with a second factor.
        case interaction = 8
        /// The server answered a refresh with tokens of another user.
        case otherSubject = 9

        init(_ core: SessionReason) { self = Reason(rawValue: core.rawValue) ?? .none }
    }

    /// An access token.
    public struct Token: Sendable {
        /// The token, in guarded memory.
        public let value: TokenStore.Secret
        /// The type of the token, `Bearer`.
        public let type: String
        /// The scope that the server granted; nil if the server did not report a scope.
        public let scope: String?
        /// The remaining lifetime of the token when it was returned; nil if unknown.
        public let timeLeft: Duration?
        /// The ordinal number of the token among all tokens of the session.
        public let generation: UInt64
        /// Whether the token ends before the requested time, because no later token could be obtained.
        public let isShort: Bool
        let target: TokenTarget?

        init(_ core: SessionToken) {
            value = TokenStore.Secret(core: core.value)
            type = core.type
            scope = core.scope
            timeLeft = core.secondsLeft.map { .seconds($0) }
            generation = core.generation
            isShort = core.isShort
            target = core.target
        }
    }

    /// A session without its tokens.
    public struct Info: Sendable {
        /// The session's service.
        public let service: String
        /// The session's account.
        public let account: String
        /// The state of the session.
        public let state: State
        /// The reason why the session ended.
        public let reason: Reason
        /// Whether the session's account is the active account of its service.
        public let isActive: Bool
        /// Whether the session has a refresh token.
        public let canRenew: Bool
        /// The time at which the access token ends; nil if unknown.
        public let expiresAt: Date?
        /// The time at which the server last accepted a token of the session; nil if unknown.
        public let validatedAt: Date?
        /// A description of the last failed answer, or the server's message about the session's end; nil if there is
        /// neither.
        public let problem: String?
        /// The time before which no request is sent to the server; nil if a request can be sent now.
        public let coolDownUntil: Date?
        /// Whether the latest tokens are only in the kernel's memory until their module is unlocked. A reboot would
        /// lose them.
        public let isStashed: Bool

        init(_ core: SessionInfo) {
            service = core.service
            account = core.account
            state = State(core.state)
            reason = Reason(core.reason)
            isActive = core.isActive
            canRenew = core.canRenew
            expiresAt = core.expiresAt.map(Date.init(_:))
            validatedAt = core.validatedAt.map(Date.init(_:))
            problem = core.problem
            coolDownUntil = core.coolDownUntil.map(Date.init(_:))
            isStashed = core.isStashed
        }
    }

    /// The report of a logout.
    public struct Report: Sendable {
        /// The revocation of the token at the server.
        public enum Revocation: Sendable {
            /// The server revoked the token.
            case done
            /// The revocation is queued for at most 30 days, or the session's record is still locked.
            case queued
            /// There was no token to revoke, or the logout was local and sends no revocation.
            case none
        }

        /// The names of the hooks that failed.
        public let failedHooks: [String]
        /// The revocation of the token at the server.
        public let revocation: Revocation

        init(_ core: EndReport) {
            failedHooks = core.hooks.filter { $0.result == .failed }.map(\.name)
            revocation =
                switch core.revocation {
                case .done: .done
                case .queued, .waitingForUnlock: .queued
                case .none: .none
                }
        }
    }
}
