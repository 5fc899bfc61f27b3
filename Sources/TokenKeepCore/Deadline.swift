import CSystemShims

/// The time at which a call must end, by the monotonic clock. A ``Cancellation`` can end the call earlier.
public struct Deadline: Sendable, Comparable {
    private let nanoseconds: Int64
    /// The cancellation that can end the call before its deadline; nil if there is none.
    public private(set) var cancellation: Cancellation?

    /// Makes a deadline that is `milliseconds` from now.
    public init(milliseconds: UInt32, cancellation: Cancellation? = nil) {
        nanoseconds = tokenkeep_deadline_after(milliseconds)
        self.cancellation = cancellation
    }

    /// The milliseconds until the deadline, rounded up; 0 after the deadline or after a cancellation.
    public var remainingMilliseconds: UInt32 {
        guard !isCancelled else { return 0 }
        return UInt32(clamping: tokenkeep_timeout_until(nanoseconds))
    }

    /// Whether the deadline has passed or the call was cancelled.
    public var hasPassed: Bool { isCancelled || tokenkeep_now() >= nanoseconds }

    /// Whether the call that has this deadline was cancelled.
    public var isCancelled: Bool { cancellation?.isCancelled ?? false }

    /// A copy of this deadline with `cancellation` in place of its own cancellation.
    public func cancelled(by cancellation: Cancellation) -> Deadline {
        var deadline = self
        deadline.cancellation = cancellation
        return deadline
    }

    /// A copy of this deadline that cannot be cancelled.
    public var withoutCancellation: Deadline {
        var deadline = self
        deadline.cancellation = nil
        return deadline
    }

    /// The earlier of this deadline and `other`. If this deadline has a cancellation, the result has the same
    /// cancellation.
    public func noLater(than other: Deadline) -> Deadline {
        guard other < self else { return self }
        guard let cancellation else { return other }
        return other.cancelled(by: cancellation)
    }

    /// The earlier of this deadline and the time `milliseconds` from now.
    public func within(milliseconds: UInt32) -> Deadline { noLater(than: Deadline(milliseconds: milliseconds)) }

    /// Throws ``Status/cancelled`` if the call that has this deadline was cancelled.
    public func checkCancellation() throws(TokenKeepError) {
        guard isCancelled else { return }
        throw TokenKeepError(.cancelled, "the call was cancelled")
    }

    /// Makes the error of a call that ended early: ``Status/cancelled`` if the call was cancelled, otherwise `status`.
    public func failure(
        _ message: String, else status: Status = .timedOut, module: String? = nil, hint: String? = nil
    ) -> TokenKeepError {
        guard !isCancelled else { return TokenKeepError(.cancelled, "the call was cancelled", module: module) }
        return TokenKeepError(status, message, module: module, hint: hint)
    }

    /// Compares the times of two deadlines.
    public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Compares the times of two deadlines, not their cancellations.
    public static func == (left: Deadline, right: Deadline) -> Bool { left.nanoseconds == right.nanoseconds }
}
