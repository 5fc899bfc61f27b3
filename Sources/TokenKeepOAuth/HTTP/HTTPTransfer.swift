import CCurl
import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepSession

/// One request of libcurl. It is freed when this object is destroyed.
final class HTTPTransfer: @unchecked Sendable {
    private let transfer: OpaquePointer
    /// The received bytes of an answer with a status from 200 to 299 that was cut off; nil if there is no such answer.
    private(set) var cutAnswer: SecretBytes?

    /// - Throws: ``Status/unsupported`` if libcurl is missing; ``Status/denied`` if SSLKEYLOGFILE is set in a
    ///   privileged process.
    init() throws(TokenKeepError) {
        // TLS libraries write the keys of connections to the file SSLKEYLOGFILE. In a privileged process, the caller
        // must not choose such a file.
        guard !Privileges.areRaised || getenv("SSLKEYLOGFILE") == nil else {
            throw TokenKeepError(.denied, "SSLKEYLOGFILE is set, and the process has more rights than its caller")
        }
        if let problem = tokenkeep_curl_load() {
            throw TokenKeepError(
                .unsupported, String(cString: problem),
                hint: "install the package libcurl4; on the command line: --exec COMMAND")
        }
        guard let transfer = tokenkeep_transfer_new() else {
            throw TokenKeepError.shortage("no memory or no descriptor for a request")
        }
        self.transfer = transfer
    }

    deinit { tokenkeep_transfer_free(transfer) }

    var wasSent: Bool { tokenkeep_transfer_was_sent(transfer) != 0 }
    var length: Int { tokenkeep_transfer_length(transfer) }

    func response(_ body: SecretBytes) -> HTTPResponse {
        HTTPResponse(
            status: Int(tokenkeep_transfer_status(transfer)), body: body,
            contentType: String(cString: tokenkeep_transfer_content_type(transfer)),
            date: String(cString: tokenkeep_transfer_date(transfer)),
            retryAfter: String(cString: tokenkeep_transfer_retry_after(transfer)))
    }

    /// Sends the request and waits for the answer. May be called once. The body of the answer is written to `answer`.
    func run(
        _ request: HTTPRequest, _ headers: [SecretBytes], _ hook: SendingHook, _ limits: tokenkeep_transfer_request,
        answer: UnsafeMutableRawBufferPointer
    ) throws(TokenKeepError) {
        let lines: [UnsafePointer<CChar>?] = headers.map { $0.unsafeAddress.assumingMemoryBound(to: CChar.self) }
        var parts = limits
        parts.body = request.body?.unsafeAddress
        parts.body_length = request.body?.count ?? 0
        parts.header_count = lines.count
        parts.answer = answer.baseAddress
        parts.answer_capacity = answer.count
        parts.data = Unmanaged.passUnretained(hook).toOpaque()
        parts.when_sending = { data in
            guard let data else { return 1 }
            return Unmanaged<SendingHook>.fromOpaque(data).takeUnretainedValue().run() ? 0 : 1
        }
        // The thread waits outside the C API's call, because fork() waits until no thread is inside a call.
        if hook.isInCall { tokenkeep_call_leave() }
        defer { if hook.isInCall { tokenkeep_call_resume() } }
        let result = request.address.text.withCString { url in
            lines.withUnsafeBufferPointer { lines in
                parts.url = url
                parts.headers = lines.baseAddress
                guard let path = request.caFile ?? Authorities.fromEnvironment else {
                    return run(parts, request.deadline)
                }
                return path.withCString { path in
                    parts.ca_file = path
                    return run(parts, request.deadline)
                }
            }
        }
        withExtendedLifetime((request.body, headers, hook)) {}
        if tokenkeep_transfer_is_cut(transfer) != 0, length <= answer.count {
            let bytes = UnsafeRawBufferPointer(rebasing: answer[..<length])
            if HTTPTransfer.isWhole(bytes) { return }
            cutAnswer = try? SecretBytes(copying: bytes)
        }
        try check(result, request, hook)
    }

    /// Whether bytes are a complete JSON answer with tokens or an error. Such an answer is used even if its length was
    /// announced wrongly or the connection stays open, because it may be the only copy of a token.
    private static func isWhole(_ answer: UnsafeRawBufferPointer) -> Bool {
        guard let json = JSONValue.answeredObject(answer) else { return false }
        return json["access_token"] != nil || json["refresh_token"] != nil || json["error"] != nil
    }

    private func run(_ parts: tokenkeep_transfer_request, _ deadline: Deadline) -> Int32 {
        deadline.lendingCancellation { isCancelled, data in
            var parts = parts
            parts.is_cancelled = isCancelled
            parts.cancellation = data
            guard let cancellation = deadline.cancellation else { return tokenkeep_transfer_run(self.transfer, &parts) }
            let complete = parts
            return cancellation.waking(by: { tokenkeep_transfer_wake(self.transfer) }) {
                withUnsafePointer(to: complete) { tokenkeep_transfer_run(self.transfer, $0) }
            }
        }
    }

    private func check(_ result: Int32, _ request: HTTPRequest, _ hook: SendingHook) throws(TokenKeepError) {
        let server = request.address.origin
        switch Int(result) {
        case TOKENKEEP_TRANSFER_ANSWERED: return
        case TOKENKEEP_TRANSFER_REFUSED:
            throw hook.error ?? TokenKeepError(.unavailable, "\(server) closed the connection", module: "server")
        case TOKENKEEP_TRANSFER_CANCELLED: throw TokenKeepError(.cancelled, "the call was cancelled")
        case TOKENKEEP_TRANSFER_TIMED_OUT:
            let step = wasSent ? "did not answer" : "could not be reached"
            throw TokenKeepError(.timedOut, "\(server) \(step) in time", module: "server", hint: "try again later")
        case TOKENKEEP_TRANSFER_TOO_LONG:
            throw TokenKeepError(.unavailable, "the answer of \(server) is longer than 256 KiB", module: "server")
        case TOKENKEEP_TRANSFER_UNTRUSTED:
            throw TokenKeepError(
                .unavailable, "\(server): \(String(cString: tokenkeep_transfer_problem(transfer)))", module: "server",
                hint:
                    "if you trust the authority of its certificate, name its PEM file: ca_file in the provider's file, or "
                    + "SSL_CERT_FILE")
        default:
            throw TokenKeepError(
                .unavailable, "\(server): \(String(cString: tokenkeep_transfer_problem(transfer)))", module: "server",
                hint: "check the network and the address")
        }
    }
}
