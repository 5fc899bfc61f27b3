public import TokenKeepCore

/// A function that runs when a session ends, with service, account and reason.
///
/// - Throws: any error; the hook then counts as failed, and the other hooks still run.
public typealias EndHookBody = @Sendable (String, String, SessionReason) throws(TokenKeepError) -> Void

/// The time limit of a hook.
public enum EndHookLimit {
    /// The time limit in milliseconds. A hook that runs longer counts as failed.
    public static let milliseconds: UInt32 = 10_000
}

/// A hook of a logout, with its name and its position in the order.
struct EndHook: Sendable {
    let name: String
    let order: UInt32
    let body: EndHookBody
}

/// The report of a logout.
public struct EndReport: Sendable {
    /// The result of a hook. The numbers are those of `tokenkeep/session.h`.
    public enum Result: UInt32, Sendable {
        /// The hook succeeded.
        case done = 1
        /// The hook failed, and the logout went on.
        case failed = 2
    }

    /// The state of the token's revocation at the server. On this machine the session is over in any case.
    public enum Revocation: Sendable {
        /// The server revoked the token.
        case done
        /// The token waits in the outbox for a later call or for `flush`.
        case queued
        /// There was no token, or the logout was to send none.
        case none
        /// The record is locked or unreadable. Its token is queued as soon as the record can be read.
        case waitingForUnlock

        /// The word for the state in outputs.
        public var word: String {
            switch self {
            case .done: "done"
            case .queued: "queued"
            case .none: "none"
            case .waitingForUnlock: "waiting-for-unlock"
            }
        }
    }

    /// The hooks in the order in which they ran.
    public internal(set) var hooks: [(name: String, result: Result)] = []
    /// The revocation of the token at the server.
    public internal(set) var revocation = Revocation.none
    /// The error for which the record could not be cleared, so that its token still waits; nil if the record is
    /// cleared.
    package internal(set) var problem: TokenKeepError?
}
