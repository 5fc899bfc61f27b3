/// What a call came to. The numbers are those of the C API and are never reused.
///
/// Source: the status table of the C header `tokenkeep/types.h`.
public enum Status: Int32, Sendable, CaseIterable {
    /// The call did what it was asked.
    case ok = 0
    /// No such item, and every place that could hold it answered.
    case notFound = 1
    /// The item's place or class key is locked and no prompt was allowed.
    case locked = 2
    /// A module that may hold the item cannot be reached.
    case unavailable = 3
    /// The deadline passed.
    case timedOut = 4
    /// The user dismissed the prompt, or the caller cancelled.
    case cancelled = 5
    /// Wrong password, or the permissions do not allow it.
    case denied = 6
    /// The level asked for is refused or cannot be enforced.
    case policy = 7
    /// A session's token is over and cannot be renewed. Loading an expired item is OK.
    case expired = 8
    /// The item changed since it was read.
    case conflict = 9
    /// The item exists and the caller asked to save only a new one.
    case duplicate = 10
    /// What is stored fails authentication or parsing.
    case corrupt = 11
    /// An argument is outside its limits.
    case invalid = 12
    /// This module or build has no such thing.
    case unsupported = 13
    /// The operating system refused: the message holds its error text.
    case io = 14
    /// Another process holds the item past the deadline.
    case busy = 15
    /// The handle was made before `fork()`.
    case forked = 16
    /// A fault of TokenKeep itself.
    case `internal` = 17
    /// The session is over: the user must sign in again.
    case needsLogin = 18

    /// The status as the C API spells it: `NOT_FOUND`.
    public var name: String {
        switch self {
        case .ok: "OK"
        case .notFound: "NOT_FOUND"
        case .locked: "LOCKED"
        case .unavailable: "UNAVAILABLE"
        case .timedOut: "TIMED_OUT"
        case .cancelled: "CANCELLED"
        case .denied: "DENIED"
        case .policy: "POLICY"
        case .expired: "EXPIRED"
        case .conflict: "CONFLICT"
        case .duplicate: "DUPLICATE"
        case .corrupt: "CORRUPT"
        case .invalid: "INVALID"
        case .unsupported: "UNSUPPORTED"
        case .io: "IO"
        case .busy: "BUSY"
        case .forked: "FORKED"
        case .internal: "INTERNAL"
        case .needsLogin: "NEEDS_LOGIN"
        }
    }
}
