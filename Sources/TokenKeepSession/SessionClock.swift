import Glibc
import TokenKeepKeys
import TokenKeepRecords

/// A moment by both clocks of the machine.
package struct SessionTime: Sendable, Equatable {
    /// Seconds since 1970 by the wall clock, which may be set.
    package var wall: Int64
    /// Seconds since the machine's start, including suspension.
    package var boottime: Int64
    /// Identifies the machine's start: 32 hexadecimal digits.
    package var boot: String

    package init(wall: Int64, boottime: Int64, boot: String) {
        self.wall = wall
        self.boottime = boottime
        self.boot = boot
    }

    /// The clocks now.
    package static var now: SessionTime {
        SessionTime(wall: seconds(CLOCK_REALTIME), boottime: seconds(CLOCK_BOOTTIME), boot: start)
    }

    /// The milliseconds of a second of the wall clock that have passed: 999 if the second is over, 0 if it is yet to begin.
    package static func milliseconds(since wall: Int64) -> UInt32 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        guard Int64(time.tv_sec) == wall else { return Int64(time.tv_sec) < wall ? 0 : 999 }
        return UInt32(clamping: time.tv_nsec / 1_000_000)
    }

    private static let start = Hexadecimal.text(ClockMark.now.boot)

    private static func seconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec)
    }
}

/// When a token ends, by two clocks: setting the wall clock cannot make an ended token valid.
package struct TokenLife: Sendable, Equatable {
    /// A wall clock that is wrong by more is ignored: 10 years.
    private static let plausible: UInt64 = 315_576_000
    /// The seeds' margin: tokens are renewed this many seconds before their end.
    private static let longestMargin: Int64 = 300

    package let obtained: SessionTime
    /// Seconds from ``obtained``, at most a century; nil if the server did not say.
    package let lifetime: Int64?
    /// The server's clock minus the wall clock, in seconds.
    package let offset: Int64

    /// The longest life that is believed: a century, in seconds.
    private static let longest: Int64 = 3_155_760_000

    package init(obtained: SessionTime, lifetime: Int64? = nil, offset: Int64 = 0) {
        self.obtained = obtained
        self.lifetime = lifetime.map { min(max(0, $0), TokenLife.longest) }
        self.offset = offset
    }

    /// Seconds left, 0 if the token is over; nil if unknown. The earlier end of both clocks counts.
    package func left(at now: SessionTime) -> Int64? {
        guard let lifetime else { return nil }
        return max(0, lifetime - age(at: now))
    }

    /// Seconds since the token was obtained. After another start of the machine only the wall clock knows.
    package func age(at now: SessionTime) -> Int64 {
        let byWall = now.wall.subtractingReportingOverflow(obtained.wall)
        let isPlausible = !byWall.overflow && byWall.partialValue.magnitude <= TokenLife.plausible
        let wall = isPlausible ? byWall.partialValue : 0
        guard now.boot == obtained.boot else { return max(0, wall) }
        let byBoot = now.boottime.subtractingReportingOverflow(obtained.boottime)
        return max(0, wall, byBoot.overflow ? 0 : byBoot.partialValue)
    }

    /// The end as Unix seconds by the wall clock; nil if unknown.
    package func end(at now: SessionTime) -> Int64? { left(at: now).map { now.wall + $0 } }

    package var margin: Int64 { lifetime.map { min(TokenLife.longestMargin, $0 / 3) } ?? 0 }

    /// Whether the token lasts for `minTTL` seconds and for the margin.
    package func isGood(at now: SessionTime, minTTL: Int64) -> Bool {
        guard let left = left(at: now) else { return true }
        return left > 0 && left >= max(minTTL, margin)
    }

    /// Whether the token is too young to be renewed for its age alone: a wrong lifetime must not make a loop.
    package func isYoung(at now: SessionTime) -> Bool {
        guard let lifetime else { return true }
        return age(at: now) < min(30, lifetime / 10)
    }
}

extension TokenLife {
    /// The life in a record, or in its token of a target.
    init(_ json: JSONValue) {
        let obtained = json["obtained"]
        self.init(
            obtained: SessionTime(
                wall: obtained?["wall"]?.integer ?? 0, boottime: obtained?["boottime"]?.integer ?? 0,
                boot: obtained?["boot"]?.text ?? ""),
            lifetime: json["expires_in"]?.integer, offset: json["offset"]?.integer ?? 0)
    }
}
