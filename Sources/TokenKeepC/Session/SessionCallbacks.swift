import CSystemShims
import TokenKeepCore
import TokenKeepHeaders
import TokenKeepOAuth
import TokenKeepSession

/// A `tokenkeep_http_fn` and its data, which the caller owns.
struct CTransport: @unchecked Sendable {
    let function: tokenkeep_http_fn
    let data: UnsafeMutableRawPointer?

    /// Calls the C function. UNAVAILABLE means that nothing was sent. Any other status than OK means that the server
    /// may have received the request.
    var transport: SessionTransport {
        { request throws(TokenKeepError) in
            let handle = try HTTPRequestHandle(request)
            let response = HTTPResponseHandle()
            let status = call(handle, response)
            guard status != Status.unavailable.rawValue else {
                throw TokenKeepError(.unavailable, "the application sent nothing", hint: "check the network")
            }
            guard status == Status.ok.rawValue else {
                throw TokenKeepError(.io, "the application got no answer (status \(status))")
            }
            return try response.response()
        }
    }

    private func call(_ request: HTTPRequestHandle, _ response: HTTPResponseHandle) -> tokenkeep_status {
        // The function waits for a server. The thread leaves the call meanwhile, so that fork() in another thread does
        // not wait for this server, too.
        tokenkeep_call_leave()
        defer { tokenkeep_call_resume() }
        return withExtendedLifetime((request, response)) {
            function(data, lentToC(request), lentToC(response))
        }
    }
}

/// A `tokenkeep_end_fn` and its data, which the caller owns.
struct CEndHook: @unchecked Sendable {
    let function: tokenkeep_end_fn
    let data: UnsafeMutableRawPointer?

    var body: EndHookBody {
        { service, account, reason throws(TokenKeepError) in
            let texts = CStrings([service, account])
            // The thread leaves the call while the hook runs, so that fork() in another thread does not wait for the
            // hook.
            tokenkeep_call_leave()
            let status = LimitedWork.run(milliseconds: EndHookLimit.milliseconds) {
                withExtendedLifetime(texts) { function(data, texts[0], texts[1], reason.rawValue) }
            }
            tokenkeep_call_resume()
            guard let status else { throw TokenKeepError(.io, "the hook did not end in time") }
            guard status == Status.ok.rawValue else {
                throw TokenKeepError(.io, "the hook returned status \(status)")
            }
        }
    }
}

extension SessionOptions {
    /// Reads `tokenkeep_session_options`; NULL stands for the defaults.
    init(_ pointer: UnsafePointer<tokenkeep_session_options>?) throws(TokenKeepError) {
        self.init()
        guard let pointer else {
            try useProviders()
            return
        }
        let options = try copy(pointer, over: tokenkeep_session_options(), "session options")
        try checkFlags(options.flags, known: UInt32(TOKENKEEP_SESSION_HEARTBEAT), "session options")
        validates = options.flags & UInt32(TOKENKEEP_SESSION_HEARTBEAT) != 0
        provider = try Boundary.optionalText(options.provider, "provider", atMost: 255)
        refreshURL = try Boundary.optionalText(options.refresh_url, "refresh_url", atMost: 4096)
        clientID = try Boundary.optionalText(options.client_id, "client_id", atMost: 4096)
        level = try SaveOptions.level(options.accessibility)
        refreshLevel = try SaveOptions.level(options.refresh_accessibility)
        if options.timeout_ms != 0 { timeoutMilliseconds = options.timeout_ms }
        rotation = try SessionOptions.rotation(options.rotation, options.overlap_s)
        if let http = options.http {
            transport = CTransport(function: http, data: options.http_data).transport
        } else {
            try useProviders()
        }
    }

    /// Sends the revocations of queued tokens for which no session is open.
    static let flushTransport: SessionTransport = { request throws(TokenKeepError) in try SessionServer.send(request) }

    private static func rotation(_ number: UInt32, _ overlap: UInt32) throws(TokenKeepError) -> RotationProfile? {
        switch Int32(bitPattern: number) {
        case TOKENKEEP_ROTATION_STRICT: nil
        case TOKENKEEP_ROTATION_OVERLAP: .overlap(seconds: overlap)
        case TOKENKEEP_ROTATION_NONE: RotationProfile.none
        default:
            throw TokenKeepError(.invalid, "rotation \(number) is no profile", hint: "the profiles are 0 to 2")
        }
    }
}
