import Glibc

/// A time in whole seconds since 1970-01-01 00:00 UTC.
public struct UnixTime: RawRepresentable, Sendable, Hashable, Comparable {
    /// The seconds since 1970-01-01 00:00 UTC.
    public let rawValue: Int64

    /// Makes a time from the seconds since 1970-01-01 00:00 UTC.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Makes a time from the seconds since 1970-01-01 00:00 UTC.
    public init(_ seconds: Int64) { self.rawValue = seconds }

    /// The current time of the wall clock.
    public static var now: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(Int64(time.tv_sec))
    }

    /// Compares two times: the earlier time is less.
    public static func < (left: UnixTime, right: UnixTime) -> Bool { left.rawValue < right.rawValue }
}
