public import Foundation
import FoundationNetworking
import TokenKeepSession

/// The rate limit in a response with status 429.
public struct RateLimit: Sendable, Equatable {
    /// The number of requests left, from `X-RateLimit-Remaining`; 0 if the header is missing.
    public let remaining: Int
    /// The time at which the limit ends, from `X-RateLimit-Reset`: seconds since 1970, or a date of HTTP or ISO 8601.
    ///
    /// nil if the header is missing or the date is after the year 9999.
    public let resetAt: Date?
    /// The wait before the next attempt, from `Retry-After`: seconds or an HTTP date; an hour if the header is missing.
    /// At most 31 days.
    public let retryAfter: Duration

    /// Makes a rate limit, for an application's tests.
    public init(remaining: Int = 0, resetAt: Date? = nil, retryAfter: Duration = .seconds(3600)) {
        self.remaining = remaining
        self.resetAt = resetAt
        self.retryAfter = retryAfter
    }

    init(_ response: HTTPURLResponse, now: Date) {
        self.init(now: now) { response.value(forHTTPHeaderField: $0) }
    }

    /// Reads a limit from a response. `header` returns the value of a header by its name.
    package init(now: Date, header: (String) -> String?) {
        remaining = max(0, header("X-RateLimit-Remaining").flatMap { Int($0) } ?? 0)
        resetAt = header("X-RateLimit-Reset").flatMap(Self.date)
        retryAfter = header("Retry-After").flatMap { Self.wait($0, now: now) } ?? .seconds(3600)
    }

    /// The wait in the header `Retry-After`; nil if the header is missing, or is neither a number of seconds nor a date.
    static func wait(_ response: HTTPURLResponse, now: Date) -> Duration? {
        response.value(forHTTPHeaderField: "Retry-After").flatMap { wait($0, now: now) }
    }

    /// Parses the value of a header `Retry-After`, by the same rules as for TokenKeep's own requests; nil if the value
    /// is malformed.
    package static func wait(_ text: String, now: Date) -> Duration? {
        HTTPDate.delay(text, now: Int64(now.timeIntervalSince1970)).map { .seconds(min($0, longestWait)) }
    }

    private static let longestWait: Int64 = 31 * 86_400
    /// The range of accepted dates, from 1970 to 9999, in Unix seconds. Calendars fail with dates far beyond this
    /// range.
    private static let seconds: Range<TimeInterval> = 0..<253_402_300_800

    private static func date(_ text: String) -> Date? {
        let date =
            (TimeInterval(text) ?? HTTPDate.seconds(text).map { TimeInterval($0) })
            .map { Date(timeIntervalSince1970: $0) } ?? (try? Date(text, strategy: .iso8601))
        return date.flatMap { seconds.contains($0.timeIntervalSince1970) ? $0 : nil }
    }
}
