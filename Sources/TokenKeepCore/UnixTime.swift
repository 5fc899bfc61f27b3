import Glibc

/// A moment in whole seconds since 1970-01-01 00:00 UTC.
public struct UnixTime: RawRepresentable, Sendable, Hashable, Comparable {
    /// Seconds since the epoch.
    public let rawValue: Int64

    /// The moment `rawValue` seconds after the epoch.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The moment `seconds` after the epoch.
    public init(_ seconds: Int64) { self.rawValue = seconds }

    /// The wall clock now.
    public static var now: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(Int64(time.tv_sec))
    }

    /// Orders times from early to late.
    public static func < (left: UnixTime, right: UnixTime) -> Bool { left.rawValue < right.rawValue }
}
