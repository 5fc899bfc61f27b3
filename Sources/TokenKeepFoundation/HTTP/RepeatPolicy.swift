import Foundation
import FoundationNetworking

/// When a request is sent again after a failure of the network, and after which wait.
struct RepeatPolicy: Sendable {
    static let limit = 3
    /// A longer wait is left to the application.
    private static let longestWait = Duration.seconds(5)
    private static let idempotent: Set<String> = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]

    /// Waits between attempts.
    var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0, clock: .continuous) }

    /// Whether a server that gets the request twice does the same as for one, and the body can be sent again (RFC 9110
    /// section 9.2.2).
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

    /// The wait that a response of status 429 or 503 asks for; nil if it asks for none, or for more than 5 seconds.
    static func wait(for response: HTTPURLResponse) -> Duration? {
        guard [429, 503].contains(response.statusCode), let wait = RateLimit.wait(response, now: Date()),
            wait <= longestWait
        else { return nil }
        return wait
    }

    /// Whether an error is the network's: a later attempt may succeed.
    static func isOfNetwork(_ error: any Error) -> Bool {
        guard let error = error as? URLError else { return false }
        switch error.code {
        case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
            .notConnectedToInternet:
            return true
        // Foundation's codes on Linux for a connection that was closed before the response, and within its body.
        case .badServerResponse, .unknown: return true
        default: return false
        }
    }
}
