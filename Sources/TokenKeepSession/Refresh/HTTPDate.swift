import Glibc

/// Parses times in HTTP headers.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses an IMF-fixdate (RFC 9110 section 5.6.7) to Unix seconds; nil for other text.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = number(words[1], 1...31), let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3], 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
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

    /// The wait in seconds that a Retry-After header states (RFC 9110 section 10.2.3); nil if it is neither a number
    /// nor a date.
    ///
    /// - Parameter now: the server's present time, in Unix seconds.
    package static func delay(_ text: String, now: Int64) -> Int64? {
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return Int64(text) ?? Int64.max
        }
        return seconds(text).map { max(0, $0 - now) }
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int32>) -> Int32? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int32(text), range.contains(number)
        else { return nil }
        return number
    }
}
