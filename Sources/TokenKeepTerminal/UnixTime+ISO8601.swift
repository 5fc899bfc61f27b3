import Glibc
package import TokenKeepCore

extension UnixTime {
    /// The time as ISO 8601 in UTC, `2030-12-31T18:00:00Z`; `@SECONDS` outside the years 1 to 9999.
    package var iso8601: String {
        var seconds = time_t(rawValue)
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil, (-1899...8099).contains(parts.tm_year) else { return "@\(rawValue)" }
        func digits(_ number: Int32, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
        return "\(date)T\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))Z"
    }
}
