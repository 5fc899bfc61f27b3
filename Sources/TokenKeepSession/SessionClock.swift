import Glibc
import TokenKeepKeys
import TokenKeepRecords

/// A moment, as shown by two clocks: the wall clock, and the clock that counts from the machine's start.
package struct SessionTime: Sendable, Equatable {
    /// Unix time in seconds, by the wall clock, which the user can set.
    package var wall: Int64
    /// Seconds since the machine's start, including the time in suspension.
    package var boottime: Int64
    /// The id of the machine's start (boot id), as 32 hexadecimal digits.
    package var boot: String

    package init(wall: Int64, boottime: Int64, boot: String) {
        self.wall = wall
        self.boottime = boottime
        self.boot = boot
    }

    /// The present moment by both clocks.
    package static var now: SessionTime {
        SessionTime(wall: seconds(CLOCK_REALTIME), boottime: seconds(CLOCK_BOOTTIME), boot: start)
    }

    /// The number of milliseconds of the wall clock's second `wall` that have passed: 0 before this second, 999 after
    /// it.
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

/// The lifetime of a token, measured by two clocks, so that setting the wall clock cannot make an expired token valid.
package struct TokenLife: Sendable, Equatable {
    /// The maximum age of a token that the wall clock may show, in seconds: 10 years. A greater age means that the
    /// clock was wrong, and is ignored.
    private static let plausible: UInt64 = 315_576_000
    /// The maximum ``margin``, in seconds. A token is renewed this long before it expires, or earlier if the caller
    /// needs a longer validity.
    private static let longestMargin: Int64 = 300

    package let obtained: SessionTime
    /// The lifetime in seconds from ``obtained``, at most a century; nil if unknown.
    package let lifetime: Int64?
    /// The server's clock minus the wall clock, in seconds.
    package let offset: Int64

    /// The maximum lifetime, in seconds: a century. A longer lifetime is cut to it.
    private static let longest: Int64 = 3_155_760_000

    package init(obtained: SessionTime, lifetime: Int64? = nil, offset: Int64 = 0) {
        self.obtained = obtained
        self.lifetime = lifetime.map { min(max(0, $0), TokenLife.longest) }
        self.offset = offset
    }

    /// The seconds until the token expires, by the clock on which more time has passed: 0 if it has expired, nil if
    /// unknown.
    package func left(at now: SessionTime) -> Int64? {
        guard let lifetime else { return nil }
        return max(0, lifetime - age(at: now))
    }

    /// The seconds since the token was obtained. After a restart of the machine, only the wall clock is compared.
    package func age(at now: SessionTime) -> Int64 {
        let byWall = now.wall.subtractingReportingOverflow(obtained.wall)
        let isPlausible = !byWall.overflow && byWall.partialValue.magnitude <= TokenLife.plausible
        let wall = isPlausible ? byWall.partialValue : 0
        guard now.boot == obtained.boot else { return max(0, wall) }
        let byBoot = now.boottime.subtractingReportingOverflow(obtained.boottime)
        return max(0, wall, byBoot.overflow ? 0 : byBoot.partialValue)
    }

    /// The time at which the token expires, in Unix seconds by the wall clock; nil if unknown.
    package func end(at now: SessionTime) -> Int64? {
        guard let sum = left(at: now)?.addingReportingOverflow(now.wall), !sum.overflow else { return nil }
        return sum.partialValue
    }

    package var margin: Int64 { lifetime.map { min(TokenLife.longestMargin, $0 / 3) } ?? 0 }

    /// Whether the token is valid for at least `minTTL` seconds and for at least ``margin``. True if its lifetime is
    /// unknown.
    package func isGood(at now: SessionTime, minTTL: Int64) -> Bool {
        guard let left = left(at: now) else { return true }
        return left > 0 && left >= max(minTTL, margin)
    }

    /// Whether the token is too new to be renewed because of its remaining lifetime. Without this limit, wrong
    /// lifetimes would cause endless renewals.
    package func isYoung(at now: SessionTime) -> Bool {
        guard let lifetime else { return true }
        return age(at: now) < min(30, lifetime / 10)
    }
}

extension TokenLife {
    /// Reads the lifetime from a session's record, or from the access token of a target in the record.
    init(_ json: JSONValue) {
        let obtained = json["obtained"]
        self.init(
            obtained: SessionTime(
                wall: obtained?["wall"]?.integer ?? 0, boottime: obtained?["boottime"]?.integer ?? 0,
                boot: obtained?["boot"]?.text ?? ""),
            lifetime: json["expires_in"]?.integer, offset: json["offset"]?.integer ?? 0)
    }
}
