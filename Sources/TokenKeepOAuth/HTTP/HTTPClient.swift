import CCurl
import CSystemShims
import Glibc
import TokenKeepCore

/// Sends requests with libcurl, which is loaded at the first request.
///
/// Every request opens its own connection, with HTTP/1.1 and at least TLS 1.2. Redirects are not followed; cookies and
/// .netrc are not used. The environment's proxies are used, unless the process has more rights than its caller.
package enum HTTPClient {
    /// The maximum length of an answer's body, in bytes.
    package static let longestAnswer = 262_144
    private static let mostHeaders = 8

    /// Sends a request and waits for the answer, on the calling thread.
    ///
    /// - Throws: ``Status/unsupported`` if libcurl is missing or too old; ``Status/unavailable`` or ``Status/timedOut``
    ///   if the network fails; ``Status/cancelled`` if the deadline was cancelled; the errors of `whenSending`.
    package static func send(_ request: HTTPRequest) throws(HTTPFailure) -> HTTPResponse {
        let transfer: HTTPTransfer
        do throws(TokenKeepError) {
            try request.deadline.checkCancellation()
            transfer = try HTTPTransfer()
        } catch {
            throw HTTPFailure(error: error, wasSent: false)
        }
        do throws(TokenKeepError) {
            return try run(transfer, request)
        } catch {
            throw HTTPFailure(error: error, wasSent: transfer.wasSent, cutAnswer: transfer.cutAnswer)
        }
    }

    private static func run(_ transfer: HTTPTransfer, _ request: HTTPRequest) throws(TokenKeepError) -> HTTPResponse {
        var headers = request.headers
        if request.body != nil {
            headers.append(try SecretBytes("Content-Type: application/x-www-form-urlencoded"))
        }
        guard headers.count <= mostHeaders else { throw TokenKeepError(.internal, "a request has too many headers") }
        let hook = SendingHook(request.whenSending)
        // The buffer for the answer is allocated before the request is sent. If memory were lacking afterwards, the
        // tokens in the answer would be lost.
        let answer = try SecretBytes(capacity: longestAnswer) { bytes throws(TokenKeepError) in
            try transfer.run(request, headers, hook, limits(request), answer: bytes)
            return transfer.length
        }
        return transfer.response(answer)
    }

    private static func limits(_ request: HTTPRequest) -> tokenkeep_transfer_request {
        let whole = request.limits.whole
        let left = min(request.deadline.remainingMilliseconds, whole)
        var limits = tokenkeep_transfer_request()
        limits.connect_ms = request.limits.connect
        limits.send_ms = left
        limits.answer_ms = request.limits.answer
        limits.all_ms = request.keepsAnswer ? whole : left
        limits.keeps_answer = request.keepsAnswer ? 1 : 0
        limits.allows_http = request.address.isPlain ? 1 : 0
        // Proxies are ignored for requests to this machine (http), and in a privileged process, whose proxy the
        // caller's environment must not choose.
        limits.ignores_proxies = request.address.isPlain || Privileges.areRaised ? 1 : 0
        return limits
    }
}

/// Calls the request's `whenSending`, and stores the error that it throws.
final class SendingHook {
    private let body: (() throws(TokenKeepError) -> Void)?
    private(set) var error: TokenKeepError?
    /// Whether the thread is inside a call of the C API. While libcurl runs, the thread leaves that call, so that
    /// fork() in other threads is not delayed.
    let isInCall = tokenkeep_call_is_inside() != 0

    init(_ body: (() throws(TokenKeepError) -> Void)?) { self.body = body }

    /// Calls `whenSending`. Returns whether the request may be sent.
    func run() -> Bool {
        if isInCall { tokenkeep_call_resume() }
        defer { if isInCall { tokenkeep_call_leave() } }
        do throws(TokenKeepError) {
            try body?()
            return true
        } catch {
            self.error = error
            return false
        }
    }
}
