public import TokenKeepCore

/// A function that is called with service, account and reason when a session ends.
///
/// - Throws: any error, which marks this hook as failed. The other hooks still run.
public typealias EndHookBody = @Sendable (String, String, SessionReason) throws(TokenKeepError) -> Void

/// The time limit of a hook.
public enum EndHookLimit {
    /// The time limit in milliseconds. A hook that runs longer counts as failed.
    public static let milliseconds: UInt32 = 10_000
}

/// A hook that runs at a logout. Hooks run in ascending `order`.
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
        /// The hook failed. The logout continued.
        case failed = 2
    }

    /// Whether the server has revoked the session's token. On this machine the session is over in every case.
    public enum Revocation: Sendable {
        /// The server revoked the token.
        case done
        /// The token waits in the outbox for a later call or for `flush`.
        case queued
        /// There was no token to revoke, or the logout was local and sends no token.
        case none
        /// The record is locked or unreadable. Its token is queued as soon as the record can be read.
        case waitingForUnlock

        /// The word for this state in output of the program.
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
    /// The error that prevented clearing the record, so that its token is not queued yet; nil if the record was
    /// cleared.
    package internal(set) var problem: TokenKeepError?
}
