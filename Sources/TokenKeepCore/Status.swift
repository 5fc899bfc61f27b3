/// The result of a call. The numbers are those of the C API (`tokenkeep/types.h`). A number never changes its meaning.
public enum Status: Int32, Sendable, CaseIterable {
    /// The call succeeded.
    case ok = 0
    /// No module has the item, and every module that could hold the item has answered.
    case notFound = 1
    /// The item's module or key is locked, and no prompt was allowed.
    case locked = 2
    /// A module that may hold the item is unavailable.
    case unavailable = 3
    /// The deadline passed.
    case timedOut = 4
    /// The user dismissed the prompt, or the caller cancelled the call.
    case cancelled = 5
    /// The password is wrong, or the permissions do not allow the access.
    case denied = 6
    /// The requested level or protection is refused or cannot be enforced.
    case policy = 7
    /// A session's token has expired and cannot be renewed. An expired item can still be loaded.
    case expired = 8
    /// The item no longer has the version that the caller expects.
    case conflict = 9
    /// The item already exists, but the caller asked to save it only if it is new.
    case duplicate = 10
    /// Stored data fails authentication or parsing.
    case corrupt = 11
    /// An argument is outside its limits.
    case invalid = 12
    /// The module or build does not support the request.
    case unsupported = 13
    /// The operating system reported an error, whose text is in the message.
    case io = 14
    /// Another process still had the item locked at the deadline.
    case busy = 15
    /// The store, session or watch was opened before `fork()`.
    case forked = 16
    /// An internal error of TokenKeep.
    case `internal` = 17
    /// The session has ended: the user must sign in again.
    case needsLogin = 18

    /// The name of the status in the C API, for example `NOT_FOUND`.
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
