import Foundation
import TokenKeepFoundation

/// The reader of responses to an application's requests.
extension FuzzTarget {
    private static let names = ["Retry-After", "X-RateLimit-Reset", "X-RateLimit-Remaining"]

    /// A line is the value of a header.
    static func takesLimit(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", maxSplits: names.count - 1, omittingEmptySubsequences: false)
        let headers = Dictionary(uniqueKeysWithValues: zip(names, lines.map(String.init)))
        let time = Date(timeIntervalSince1970: TimeInterval(now.wall))
        let limit = RateLimit(now: time) { headers[$0] }
        try check(limit.remaining >= 0, "\(limit.remaining) requests left")
        try check(
            (Duration.zero...Duration.seconds(31 * 86_400)).contains(limit.retryAfter), "wait \(limit.retryAfter)")
        let wait = headers[names[0]].flatMap { RateLimit.wait($0, now: time) }
        try check(limit.retryAfter == wait ?? .seconds(3600), "a wait that is not the header's")
        guard let reset = limit.resetAt else { return wait != nil }
        let text = reset.formatted(.iso8601)
        let again = RateLimit(now: time) { $0 == names[1] ? text : nil }.resetAt
        try check(
            again.map { abs($0.timeIntervalSince(reset)) < 1 } ?? false, "\(reset) is read as another time: \(text)")
        return true
    }
}
