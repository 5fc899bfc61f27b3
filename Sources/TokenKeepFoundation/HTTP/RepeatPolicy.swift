import Foundation
import FoundationNetworking

/// Decides whether a request is sent again after a network failure, and how long to wait before.
struct RepeatPolicy: Sendable {
    static let limit = 3
    /// The maximum value of `Retry-After` that is waited for. If a server demands a longer wait, the response is
    /// returned to the application.
    private static let longestWait = Duration.seconds(5)
    private static let idempotent: Set<String> = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]

    /// Waits between two attempts. Tests replace it.
    var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) }

    /// Whether the request may be sent twice: it is idempotent (RFC 9110 section 9.2.2) or has an `Idempotency-Key`, and its
    /// body can be sent again.
    static func allows(_ request: URLRequest) -> Bool {
        let isIdempotent =
            idempotent.contains(request.httpMethod ?? "GET")
            || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
        return isIdempotent && canBeSentAgain(request)
    }

    /// Whether the body can be sent again.
    static func canBeSentAgain(_ request: URLRequest) -> Bool { request.httpBodyStream == nil }

    /// The wait before the next attempt: 1, 2, 4 seconds and so on up to `longest`, ± 20 %.
    static func wait(before attempt: Int, upTo longest: Duration = .seconds(4)) -> Duration {
        min(.seconds(1) * (1 << min(max(0, attempt), 30)), longest) * Int.random(in: 80...120) / 100
    }

    /// The wait that a response 429 or 503 demands; nil if it demands no wait, or more than 5 seconds.
    static func wait(for response: HTTPURLResponse) -> Duration? {
        guard [429, 503].contains(response.statusCode), let wait = RateLimit.wait(response, now: Date()),
            wait <= longestWait
        else { return nil }
        return wait
    }

    /// Whether an error is a network failure, after which a later attempt may succeed.
    static func isOfNetwork(_ error: any Error) -> Bool {
        guard let error = error as? URLError else { return false }
        switch error.code {
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .notConnectedToInternet:
            return true
        // On Linux, Foundation reports these codes for a connection that was closed before the response or within its
        // body.
        case .badServerResponse, .unknown: return true
        default: return false
        }
    }
}
