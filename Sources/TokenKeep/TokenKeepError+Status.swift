import TokenKeepCore

extension TokenKeepError {
    /// The result of a call. The numbers are those of the C API and are never reused.
    ///
    /// The type is not an enumeration, because later versions may add statuses. Therefore a `switch` needs a `default`.
    ///
    /// Source: the status table of the C header `tokenkeep/types.h`.
    public struct Status: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The number of the status in the C API.
        public let rawValue: Int32

        /// Makes a status from its number in the C API.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The call succeeded.
        public static let ok = Status(rawValue: 0)
        /// The item does not exist: every module that could hold it has answered.
        public static let notFound = Status(rawValue: 1)
        /// The item's module or class key is locked, and no prompt was allowed.
        public static let locked = Status(rawValue: 2)
        /// A module that may hold the item is unavailable.
        public static let unavailable = Status(rawValue: 3)
        /// The deadline passed.
        public static let timedOut = Status(rawValue: 4)
        /// The user dismissed the prompt. A cancelled task throws `CancellationError` instead.
        public static let cancelled = Status(rawValue: 5)
        /// The password is wrong, or the permissions do not allow the access.
        public static let denied = Status(rawValue: 6)
        /// The requested level is refused or cannot be enforced.
        public static let policy = Status(rawValue: 7)
        /// A session's token has expired and cannot be renewed. Loading an expired item is not an error.
        public static let expired = Status(rawValue: 8)
        /// The item has changed since it was read.
        public static let conflict = Status(rawValue: 9)
        /// The item exists, but the save required a new item.
        public static let duplicate = Status(rawValue: 10)
        /// Stored data fails authentication or parsing.
        public static let corrupt = Status(rawValue: 11)
        /// An argument is outside its limits.
        public static let invalid = Status(rawValue: 12)
        /// The module or build does not support the request.
        public static let unsupported = Status(rawValue: 13)
        /// The operating system reported an error. The message contains its text.
        public static let io = Status(rawValue: 14)
        /// Another process holds the item past the deadline.
        public static let busy = Status(rawValue: 15)
        /// The handle was made before `fork()`.
        public static let forked = Status(rawValue: 16)
        /// An internal error of TokenKeep.
        public static let `internal` = Status(rawValue: 17)
        /// The session has ended: the user must sign in again.
        public static let needsLogin = Status(rawValue: 18)

        /// The name of the status in the C API, for example `NOT_FOUND`; `INTERNAL` if the number is unknown.
        public var name: String { core.name }

        /// The name of the status in the C API.
        public var description: String { name }

        init(_ core: TokenKeepCore.Status) { self.init(rawValue: core.rawValue) }

        var core: TokenKeepCore.Status { TokenKeepCore.Status(rawValue: rawValue) ?? .internal }

        /// Whether the error is a ``TokenKeepError`` with this status, for `catch TokenKeepError.Status.locked`.
        public static func ~= (status: Status, error: any Error) -> Bool {
            (error as? TokenKeepError)?.status == status
        }
    }
}
