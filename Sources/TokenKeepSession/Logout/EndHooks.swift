public import TokenKeepCore

/// Runs when a session ends. Gets service, account and reason.
///
/// - Throws: the reason of a failure. It stops no other hook.
public typealias EndHookBody = @Sendable (String, String, SessionReason) throws(TokenKeepError) -> Void

/// The time limit of a hook.
public enum EndHookLimit {
    /// In milliseconds. A hook that runs longer counts as failed.
    public static let milliseconds: UInt32 = 10_000
}

/// A named hook, with its place in the order.
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

    /// The revocation of the token at the server. The session is over here in any case.
    public enum Revocation: Sendable {
        /// The server revoked the token.
        case done
        /// The token waits in the outbox; `flush` sends it.
        case queued
        /// There was no token, or none was to be sent.
        case none
        /// The record is locked, or cannot be read now. The token is queued when it can be.
        case waitingForUnlock

        /// The word in outputs.
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
    /// The reason why the record could not be cleared, so that its token waits; nil if the record is cleared.
    package internal(set) var problem: TokenKeepError?
}
