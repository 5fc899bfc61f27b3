public import Foundation
import FoundationNetworking

/// The limit that a server tells with status 429.
public struct RateLimit: Sendable, Equatable {
    /// The requests left, from `X-RateLimit-Remaining`; 0 without the header.
    public let remaining: Int
    /// The end of the limit, from `X-RateLimit-Reset` in seconds since 1970, or as a date of HTTP or ISO 8601; nil
    /// without the header.
    public let resetAt: Date?
    /// The time until the next try, from `Retry-After`; an hour without the header. At most 31 days.
    public let retryAfter: Duration

    /// Makes a limit, for an application's tests.
    public init(remaining: Int = 0, resetAt: Date? = nil, retryAfter: Duration = .seconds(3600)) {
        self.remaining = remaining
        self.resetAt = resetAt
        self.retryAfter = retryAfter
    }

    init(_ response: HTTPURLResponse, now: Date) {
        remaining = response.value(forHTTPHeaderField: "X-RateLimit-Remaining").flatMap(Int.init) ?? 0
        resetAt = response.value(forHTTPHeaderField: "X-RateLimit-Reset").flatMap(Self.date)
        retryAfter = Self.wait(response, now: now) ?? .seconds(3600)
    }

    /// The time that `Retry-After` tells, in seconds or as a date; nil without the header.
    static func wait(_ response: HTTPURLResponse, now: Date) -> Duration? {
        guard let text = response.value(forHTTPHeaderField: "Retry-After") else { return nil }
        let seconds = Int64(text) ?? httpDate(text).map { Int64(clamping: $0.timeIntervalSince(now)) }
        return seconds.map { .seconds(min(max($0, 0), longestWait)) }
    }

    private static let longestWait: Int64 = 31 * 86_400

    private static func date(_ text: String) -> Date? {
        TimeInterval(text).flatMap { $0.isFinite ? Date(timeIntervalSince1970: $0) : nil }
            ?? httpDate(text) ?? (try? Date(text, strategy: .iso8601))
    }

    /// A date as in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
    private static func httpDate(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter.date(from: text)
    }
}

extension Int64 {
    /// The nearest whole number; 0 if there is none.
    fileprivate init(clamping seconds: TimeInterval) {
        self = seconds.isNaN ? 0 : Int64(Swift.min(Swift.max(seconds, -1e15), 1e15))
    }
}
