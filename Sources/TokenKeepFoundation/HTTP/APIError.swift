public import Foundation
import FoundationNetworking

/// The error of a request, with a message for people.
public enum APIError: Error, Sendable, Equatable {
    /// Nobody is signed in, or the server also refused the renewed token.
    case authenticationRequired
    /// The session has ended, because the server refused to renew its token.
    case unauthorized
    /// Status 429: the server accepts no more requests for now.
    case rateLimited(RateLimit)
    /// Status 400, because the request lacks the header `X-Device-ID`.
    case missingDeviceID
    /// Status 400 for any other reason.
    case badRequest
    /// Any other status outside of 200 to 299.
    ///
    /// This includes 401 if the request was sent without the token, for example after a redirect to another origin.
    case serverError(statusCode: Int)
    /// The status is from 200 to 299, but the response has no body.
    case noData
    /// The request's address is not http or https.
    case invalidURL
    /// The answer is not an HTTP response.
    case unknown

    /// Creates the error for a response; nil if the response is a success with a body.
    ///
    /// - Parameter hadToken: whether the request was sent with the session's token.
    init?(_ response: HTTPURLResponse, _ body: Data, hadToken: Bool, now: Date = Date()) {
        switch response.statusCode {
        case 200...299:
            guard body.isEmpty else { return nil }
            self = .noData
        case 400:
            let answer = try? JSONDecoder().decode(ErrorResponse.self, from: body)
            self = answer?.error.message.contains(SessionClient.deviceHeader) == true ? .missingDeviceID : .badRequest
        case 401 where hadToken: self = .authenticationRequired
        case 429: self = .rateLimited(RateLimit(response, now: now))
        default: self = .serverError(statusCode: response.statusCode)
        }
    }
}

extension APIError: LocalizedError {
    /// The message for the user.
    public var errorDescription: String? {
        switch self {
        case .authenticationRequired: "Please sign in to continue"
        case .unauthorized: "Your session has expired. Please sign in again."
        case .rateLimited: "You've reached your daily limit. Try again tomorrow."
        case .missingDeviceID: "Device identification required"
        case .badRequest: "Invalid request"
        case .serverError(let code): "Server error (\(code))"
        case .noData: "No data received"
        case .invalidURL: "Invalid URL"
        case .unknown: "An unknown error occurred"
        }
    }
}

/// The body of a server's error: `{"error": {"code", "message"}}`.
public struct ErrorResponse: Codable, Sendable, Equatable {
    /// The error.
    public let error: ErrorDetail
}

/// The error in an ``ErrorResponse``.
public struct ErrorDetail: Codable, Sendable, Equatable {
    /// The server's code for the error.
    public let code: String
    /// The server's message.
    public let message: String
}
