import Glibc

/// The moment a call must be over, by the monotonic clock.
public struct Deadline: Sendable, Comparable {
    private let nanoseconds: Int64

    /// A deadline `milliseconds` from now.
    public init(milliseconds: UInt32) {
        nanoseconds = Deadline.monotonic() + Int64(milliseconds) * 1_000_000
    }

    /// Milliseconds left, rounded up; 0 once it has passed.
    public var remainingMilliseconds: UInt32 {
        let left = nanoseconds - Deadline.monotonic()
        guard left > 0 else { return 0 }
        return UInt32(clamping: (left + 999_999) / 1_000_000)
    }

    /// Whether the moment has passed.
    public var hasPassed: Bool { Deadline.monotonic() >= nanoseconds }

    /// Earlier is less.
    public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

    private static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
