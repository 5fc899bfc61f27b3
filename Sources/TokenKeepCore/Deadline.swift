import Glibc

/// The moment a call must be over, by the monotonic clock; or earlier, where it carries a ``Cancellation``.
public struct Deadline: Sendable, Comparable {
    private let nanoseconds: Int64
    /// What ends the call before its time; nil for nothing.
    public private(set) var cancellation: Cancellation?

    /// A deadline `milliseconds` from now.
    public init(milliseconds: UInt32, cancellation: Cancellation? = nil) {
        nanoseconds = Deadline.monotonic() + Int64(milliseconds) * 1_000_000
        self.cancellation = cancellation
    }

    /// Milliseconds left, rounded up; 0 once it has passed or was cancelled.
    public var remainingMilliseconds: UInt32 {
        guard !isCancelled else { return 0 }
        let left = nanoseconds - Deadline.monotonic()
        guard left > 0 else { return 0 }
        return UInt32(clamping: (left + 999_999) / 1_000_000)
    }

    /// Whether the moment has passed, or was not waited for.
    public var hasPassed: Bool { isCancelled || Deadline.monotonic() >= nanoseconds }

    /// Whether the call was cancelled.
    public var isCancelled: Bool { cancellation?.isCancelled ?? false }

    /// The same moment, and ended earlier by `cancellation`.
    public func cancelled(by cancellation: Cancellation) -> Deadline {
        var deadline = self
        deadline.cancellation = cancellation
        return deadline
    }

    /// The same moment, and nothing ends it earlier.
    public var withoutCancellation: Deadline {
        var deadline = self
        deadline.cancellation = nil
        return deadline
    }

    /// The earlier moment of both, ended earlier by whatever ends this one.
    public func noLater(than other: Deadline) -> Deadline {
        guard other < self else { return self }
        guard let cancellation else { return other }
        return other.cancelled(by: cancellation)
    }

    /// This moment, but at most `milliseconds` from now.
    public func within(milliseconds: UInt32) -> Deadline { noLater(than: Deadline(milliseconds: milliseconds)) }

    /// - Throws: ``Status/cancelled`` where the call was cancelled.
    public func checkCancellation() throws(TokenKeepError) {
        guard isCancelled else { return }
        throw TokenKeepError(.cancelled, "the call was cancelled")
    }

    /// Why nothing more is done once it has passed: ``Status/cancelled``, or `status` in these words.
    public func failure(
        _ message: String, else status: Status = .timedOut, module: String? = nil, hint: String? = nil
    ) -> TokenKeepError {
        guard !isCancelled else { return TokenKeepError(.cancelled, "the call was cancelled", module: module) }
        return TokenKeepError(status, message, module: module, hint: hint)
    }

    /// Earlier is less.
    public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The same moment.
    public static func == (left: Deadline, right: Deadline) -> Bool { left.nanoseconds == right.nanoseconds }

    private static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
