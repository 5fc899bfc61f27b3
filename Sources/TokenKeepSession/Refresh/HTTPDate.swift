import Glibc
import TokenKeepCore

/// Parses times in HTTP headers.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    /// The names of Universal Time, the only time zone that a header may have.
    private static let zones: Set = ["GMT", "UTC", "+0000"]
    /// The maximum difference between the server's and this machine's clock, in seconds: 10 years. A larger one is
    /// ignored.
    private static let longestOffset = 315_576_000

    /// Converts a date in one of the three formats of RFC 9110 section 5.6.7 to Unix seconds; nil for other text.
    ///
    /// - Parameter now: the present time, in Unix seconds. It determines the century of a year with two digits.
    package static func seconds(_ text: String, now: Int64 = UnixTime.now.rawValue) -> Int64? {
        let words = text.split(separator: " ")
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where words[0].hasSuffix(",") && zones.contains(String(words[5])):
            return seconds(day: words[1], month: words[2], year: number(words[3], 1970...9999), clock: words[4])
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where words[0].hasSuffix(",") && zones.contains(String(words[3])):
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, date[2].utf8.count == 2, let year = number(date[2], 0...99) else { return nil }
            return seconds(day: date[0], month: date[1], year: fullYear(year, now: now), clock: words[2])
        // Sun Nov  6 08:49:37 1994
        case 5:
            return seconds(day: words[2], month: words[1], year: number(words[4], 1970...9999), clock: words[3])
        default: return nil
        }
    }

    /// The wait in seconds that a Retry-After header states (RFC 9110 section 10.2.3); nil if the text has neither a
    /// number nor a date. A fraction is rounded up. If the text is a list of numbers, because a proxy joined several
    /// headers, the largest is returned.
    ///
    /// - Parameter now: the server's present time, in Unix seconds.
    package static func delay(_ text: String, now: Int64) -> Int64? {
        if let date = seconds(text, now: now) { return max(0, date - now) }
        let delays = text.split(separator: ",", omittingEmptySubsequences: false).map(delay)
        return delays.contains(nil) ? nil : delays.compactMap { $0 }.max()
    }

    /// The server's time according to a header Date, and the server's clock minus the wall clock in seconds. If the
    /// header is unreadable, returns the wall clock's time and 0. A difference of more than 10 years is returned as 0.
    package static func serverClock(_ date: String, wall: Int64) -> (time: Int64, offset: Int64) {
        let time = seconds(date) ?? wall
        let offset = time - wall
        return (time, offset.magnitude > longestOffset ? 0 : offset)
    }

    /// The seconds in a decimal number, rounded up; nil for other text.
    private static func delay(_ text: Substring) -> Int64? {
        let parts = text.drop { $0 == " " }.prefix { $0 != " " }.split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, !whole.isEmpty, parts.allSatisfy({ isDigits($0) }) else { return nil }
        let isFraction = parts.count == 2 && parts[1].contains { $0 != "0" }
        return Int64(whole).map { $0 < Int64.max && isFraction ? $0 + 1 : $0 } ?? Int64.max
    }

    /// The year that ends with these two digits and is at most 50 years before or after the present year (RFC 9110
    /// section 5.6.7).
    private static func fullYear(_ year: Int32, now: Int64) -> Int32 {
        var time = time_t(now)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return 1900 + year }
        let present = parts.tm_year + 1900
        let sameCentury = present - present % 100 + year
        return sameCentury > present + 50 ? sameCentury - 100 : sameCentury + (sameCentury < present - 50 ? 100 : 0)
    }

    private static func seconds(day: Substring, month: Substring, year: Int32?, clock: Substring) -> Int64? {
        let clock = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard let year, let day = number(day, 1...31), let month = months.firstIndex(of: String(month)),
            clock.count == 3, let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
            let second = number(clock[2], 0...60)
        else { return nil }
        var parts = tm()
        parts.tm_year = year - 1900
        parts.tm_mon = Int32(month)
        parts.tm_mday = day
        parts.tm_hour = hour
        parts.tm_min = minute
        parts.tm_sec = second
        return Int64(timegm(&parts))
    }

    private static func isDigits(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int32>) -> Int32? {
        guard isDigits(text), let number = Int32(text), range.contains(number) else { return nil }
        return number
    }
}
