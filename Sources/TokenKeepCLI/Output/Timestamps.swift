import Glibc
import TokenKeepCore

extension UnixTime {
    /// The last second of the year 9999, in Unix seconds. It is the maximum, because a year of ISO 8601 has four
    /// digits.
    private static let latest: Int64 = 253_402_300_799

    /// Parses the time at which a secret expires.
    ///
    /// The text is an ISO 8601 date and time with its zone, a date (its first second in UTC), `@SECONDS` since 1970, or
    /// `+DURATION` from now.
    ///
    /// - Throws: ``Status/invalid`` if the text is not such a time, or if the time is outside the years 1970 to 9999.
    init(expiry text: String, now: UnixTime = .now) throws(TokenKeepError) {
        guard let seconds = UnixTime.seconds(text, now: now) else {
            throw TokenKeepError(
                .invalid, "the expiry is not a time",
                hint: "for example 2030-12-31, 2030-12-31T18:00:00Z, 2030-12-31T18:00:00+02:00, @1924970400, +12h, +30d"
            )
        }
        guard (1...UnixTime.latest).contains(seconds) else {
            throw TokenKeepError(.invalid, "the expiry is not between 1970-01-01T00:00:01Z and 9999-12-31T23:59:59Z")
        }
        self.init(seconds)
    }

    private static func seconds(_ text: String, now: UnixTime) -> Int64? {
        switch text.first {
        case "@": return Int64(text.dropFirst())
        case "+":
            guard let milliseconds = Durations.milliseconds(String(text.dropFirst())), milliseconds % 1000 == 0 else {
                return nil
            }
            return now.rawValue.addingReportingOverflow(milliseconds / 1000).partialValue
        default: return calendarSeconds(text)
        }
    }

    private static func calendarSeconds(_ text: String) -> Int64? {
        let date = /([0-9]{4})-([0-9]{2})-([0-9]{2})/
        let time = /([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?/
        let zone = /[Zz]|(?:([+\-])([0-9]{2}):?([0-9]{2}))/
        guard let day = text.prefixMatch(of: date) else { return nil }
        var parts = tm()
        parts.tm_year = (Int32(day.output.1) ?? 0) - 1900
        parts.tm_mon = (Int32(day.output.2) ?? 0) - 1
        parts.tm_mday = Int32(day.output.3) ?? 0
        let rest = text[day.range.upperBound...]
        guard let separator = rest.first else { return seconds(of: parts) }
        guard "Tt ".contains(separator), let clock = rest.dropFirst().prefixMatch(of: time),
            let offset = rest[clock.range.upperBound...].wholeMatch(of: zone)
        else { return nil }
        parts.tm_hour = Int32(clock.output.1) ?? 0
        parts.tm_min = Int32(clock.output.2) ?? 0
        parts.tm_sec = clock.output.3.flatMap { Int32($0) } ?? 0
        guard let local = seconds(of: parts) else { return nil }
        guard let hours = offset.output.2.flatMap({ Int64($0) }), let minutes = offset.output.3.flatMap({ Int64($0) })
        else { return local }
        guard hours < 24, minutes < 60 else { return nil }
        let east = hours * 3600 + minutes * 60
        return offset.output.1 == "-" ? local + east : local - east
    }

    /// Converts a moment in UTC to Unix seconds; nil if the calendar has no such moment.
    ///
    /// `timegm` alone would turn the 30th of February into the 2nd of March.
    private static func seconds(of parts: tm) -> Int64? {
        var copy = parts
        let seconds = timegm(&copy)
        let isSame =
            copy.tm_year == parts.tm_year && copy.tm_mon == parts.tm_mon && copy.tm_mday == parts.tm_mday
            && copy.tm_hour == parts.tm_hour && copy.tm_min == parts.tm_min && copy.tm_sec == parts.tm_sec
        return isSame ? Int64(seconds) : nil
    }
}
