import CFleetLink
import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

/// The persistent connections to the endpoints of a registry. Used by one thread.
final class EtcdLink {
    /// The maximum length of an answer, in bytes. A page of a listing is much shorter.
    static let longestAnswer = 4 << 20
    private static let connectMilliseconds: UInt32 = 3000
    /// The maximum idle time of a connection, in seconds of boot time. Older connections are closed, because the server
    /// may have dropped them without notice.
    private static let longestIdle: Int64 = 60

    /// The outcome of a request: an answer, or the reason why there is none.
    enum Outcome {
        case answer(UInt32, WireValue?, message: String, body: SecretBytes?)
        case failure(RegistryFailure)
    }

    let settings: EtcdSettings
    private let link: OpaquePointer
    /// The value of the header Date of the last answer; "" if the answer had no such header.
    private(set) var date = ""
    private var usedAt = SessionTime.now.boottime

    /// Makes a link without connections.
    ///
    /// - Throws: ``Status/unsupported`` if libcurl is missing or too old.
    init(_ settings: EtcdSettings) throws(TokenKeepError) {
        if let problem = tokenkeep_link_load() {
            throw TokenKeepError(.unsupported, String(cString: problem), hint: "install the package libcurl4")
        }
        guard let link = tokenkeep_link_new() else {
            throw TokenKeepError.shortage("no memory or no descriptor for a request")
        }
        self.settings = settings
        self.link = link
    }

    deinit { tokenkeep_link_free(link) }

    /// Closes the persistent connections, which may be dead after a change of network or a suspend.
    func disconnect() { _ = tokenkeep_link_disconnect(link) }

    /// Sends a request to one endpoint.
    ///
    /// - Parameters:
    ///   - body: the JSON of a POST; nil for a GET.
    ///   - isSecret: whether the answer contains a token. Its buffer is then guarded memory, 64 KiB long.
    func send(
        _ path: String, to endpoint: WebAddress, _ body: SecretBytes?, token: SecretBytes?, limit: UInt32,
        isSecret: Bool = false
    ) throws(TokenKeepError) -> Outcome {
        if isSecret {
            var outcome: Outcome?
            let answer = try SecretBytes(capacity: 65536) { bytes throws(TokenKeepError) in
                let result = run(path, endpoint, body, token, limit, bytes)
                outcome = result
                return tokenkeep_link_length(link)
            }
            guard case .answer(let status, let json, let message, _)? = outcome else {
                return outcome ?? .failure(away(endpoint, "no answer"))
            }
            return .answer(status, json, message: message, body: answer)
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: EtcdLink.longestAnswer, alignment: 1)
        defer { memory.deallocate() }
        return run(path, endpoint, body, token, limit, memory)
    }

    private func run(
        _ path: String, _ endpoint: WebAddress, _ body: SecretBytes?, _ token: SecretBytes?, _ limit: UInt32,
        _ answer: UnsafeMutableRawBufferPointer
    ) -> Outcome {
        closeIfIdle()
        var result = request(path, endpoint, body, token, limit, answer)
        if result == Int32(TOKENKEEP_LINK_TIMED_OUT) {
            // If a persistent connection was used, it may be dead, so the request is sent again on a new connection.
            // Every request may be repeated.
            let wasKept = tokenkeep_link_was_kept(link) != 0
            disconnect()
            if wasKept { result = request(path, endpoint, body, token, limit, answer) }
        }
        usedAt = SessionTime.now.boottime
        guard result == Int32(TOKENKEEP_LINK_ANSWERED) else { return .failure(failure(result, endpoint)) }
        date = String(cString: tokenkeep_link_date(link))
        let bytes = UnsafeRawBufferPointer(rebasing: answer[..<tokenkeep_link_length(link)])
        let status = tokenkeep_link_status(link)
        if status == 200 { return .answer(200, WireValue(parsing: bytes), message: "", body: nil) }
        return .answer(status, nil, message: EtcdAnswers.message(bytes), body: nil)
    }

    private func closeIfIdle() {
        if SessionTime.now.boottime - usedAt >= EtcdLink.longestIdle { disconnect() }
    }

    private func request(
        _ path: String, _ endpoint: WebAddress, _ body: SecretBytes?, _ token: SecretBytes?, _ limit: UInt32,
        _ answer: UnsafeMutableRawBufferPointer
    ) -> Int32 {
        defer { withExtendedLifetime((body, token)) {} }
        return settings.lent(endpoint, path, token) { call in
            call.connect_ms = min(limit, EtcdLink.connectMilliseconds)
            call.all_ms = limit
            call.body = body?.unsafeAddress
            call.body_length = body?.count ?? 0
            call.answer = answer.baseAddress
            call.answer_capacity = answer.count
            return tokenkeep_link_run(link, &call)
        }
    }

    /// The failure if this device's certificate has expired, otherwise nil. The date is checked here, because the
    /// server may close the connection without an alert.
    private func endedCertificate(_ endpoint: WebAddress) -> RegistryFailure? {
        guard !endpoint.isPlain, let file = settings.certificateFile, ClientCertificate.hasEnded(file) else {
            return nil
        }
        return RegistryFailure(
            .certificate,
            TokenKeepError(
                .denied, "this device's certificate has ended: \(file)", module: "registry",
                hint: "a new one has no common name: openssl req -subj /O=fleet/OU=device …"))
    }

    private func away(_ endpoint: WebAddress, _ words: String) -> RegistryFailure {
        let ended = endedCertificate(endpoint)
        let wasReached = tokenkeep_link_was_reached(link) != 0
        // An expired certificate is the reason only if the server was reached, because otherwise the server has not
        // seen the certificate.
        if let ended, wasReached { return ended }
        // A server that requires a client certificate sends a TLS alert, which libcurl does not always see, and closes
        // the connection. So the hint names the missing certificate as a possible reason.
        let mayWantCertificate = wasReached && !endpoint.isPlain && settings.certificateFile == nil
        return RegistryFailure(
            .away,
            TokenKeepError(
                .unavailable, "\(endpoint.origin): \(words)", module: "registry",
                hint: "check the network and the address, http or https; the registry may be down"
                    + (mayWantCertificate ? ", or want a client certificate: --cert FILE --key FILE" : "")
                    + (ended == nil ? "" : "; this device's certificate has ended, too")))
    }

    private func failure(_ result: Int32, _ endpoint: WebAddress) -> RegistryFailure {
        let server = endpoint.origin
        let problem = String(cString: tokenkeep_link_problem(link))
        switch Int(result) {
        case TOKENKEEP_LINK_TIMED_OUT:
            return RegistryFailure(
                .away,
                TokenKeepError(
                    .timedOut, "\(server) did not answer in time", module: "registry", hint: "try again later"))
        case TOKENKEEP_LINK_TOO_LONG:
            return RegistryFailure(
                .tooLong,
                TokenKeepError(.unavailable, "the answer of \(server) is longer than 4 MiB", module: "registry"))
        case TOKENKEEP_LINK_UNTRUSTED:
            return RegistryFailure(
                .certificate,
                TokenKeepError(
                    .unavailable, "\(server) is not trusted: \(problem)", module: "registry",
                    hint:
                        "name the authority of its certificate, a PEM file, as ca_file in the fleet's file, and check this machine's clock"
                ))
        case TOKENKEEP_LINK_UNUSABLE:
            return RegistryFailure(
                .certificate,
                TokenKeepError(
                    .invalid, "this device's certificate or its key cannot be used: \(problem)", module: "registry",
                    hint: "name both, PEM files without a password: certificate and key in the fleet's file"))
        case TOKENKEEP_LINK_REFUSED:
            return endedCertificate(endpoint)
                ?? RegistryFailure(
                    .certificate,
                    TokenKeepError(
                        .denied, "\(server) refuses this device's certificate: \(problem)", module: "registry",
                        hint:
                            "name a valid certificate without a common name, and its key: certificate and key in the fleet's file"
                    ))
        default: return away(endpoint, problem.isEmpty ? "no answer" : problem)
        }
    }
}

extension EtcdSettings {
    /// Calls `body` with a C structure whose pointers are valid until `body` returns.
    func lent<Result>(
        _ endpoint: WebAddress, _ path: String, _ token: SecretBytes?,
        _ body: (inout tokenkeep_link_call) -> Result
    ) -> Result {
        func optional<Value>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Value) -> Value {
            guard let text else { return body(nil) }
            return text.withCString { body($0) }
        }
        return (endpoint.text + path).withCString { url in
            optional(caFile) { ca in
                optional(certificateFile) { certificate in
                    optional(keyFile) { key in
                        var call = tokenkeep_link_call()
                        call.url = url
                        call.authorization = token?.unsafeAddress.assumingMemoryBound(to: CChar.self)
                        call.ca_file = ca
                        call.certificate_file = certificate
                        call.key_file = key
                        call.allows_http = endpoint.isPlain ? 1 : 0
                        return body(&call)
                    }
                }
            }
        }
    }
}
