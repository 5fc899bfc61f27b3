import TokenKeepCore
import TokenKeepHeaders
import TokenKeepSession

/// A `tokenkeep_token`.
final class TokenHandle: Sendable {
    let token: SessionToken
    private let texts: CStrings

    init(_ token: SessionToken) {
        self.token = token
        texts = CStrings([token.type, token.scope ?? ""])
    }

    var type: UnsafePointer<CChar> { texts[0] }
    var scope: UnsafePointer<CChar>? { token.scope == nil ? nil : texts[1] }
}

/// A `tokenkeep_session_info`.
final class SessionInfoHandle: Sendable {
    let info: SessionInfo
    private let texts: CStrings

    init(_ info: SessionInfo) {
        self.info = info
        texts = CStrings([info.service, info.account, info.provider ?? "", info.scope ?? ""])
    }

    var service: UnsafePointer<CChar> { texts[0] }
    var account: UnsafePointer<CChar> { texts[1] }
    var provider: UnsafePointer<CChar>? { info.provider == nil ? nil : texts[2] }
    var scope: UnsafePointer<CChar>? { info.scope == nil ? nil : texts[3] }
}

/// A `tokenkeep_session_infos`.
final class SessionInfosHandle: Sendable {
    let infos: [SessionInfoHandle]
    let problem: ErrorHandle?

    init(_ listing: Sessions.Listing) {
        infos = listing.sessions.map(SessionInfoHandle.init)
        problem = listing.problem.map(ErrorHandle.init)
    }
}

/// A `tokenkeep_session_report`.
final class EndReportHandle: Sendable {
    let results: [UInt32]
    private let texts: CStrings

    init(_ report: EndReport) {
        var names = report.hooks.map(\.name)
        var results = report.hooks.map(\.result.rawValue)
        switch report.revocation {
        case .none: break
        case .done:
            names.append("revocation")
            results.append(UInt32(TOKENKEEP_RESULT_DONE))
        case .queued, .waitingForUnlock:
            names.append("revocation")
            results.append(UInt32(TOKENKEEP_RESULT_QUEUED))
        }
        self.results = results
        texts = CStrings(names)
    }

    /// The name at `index`, which must be a valid index of ``results``.
    func name(at index: Int) -> UnsafePointer<CChar> { texts[index] }
}

/// A `tokenkeep_http_request`. It is valid only during the call of the application's function.
final class HTTPRequestHandle: Sendable {
    /// The headers of every request, RFC 6749 section 3.2.
    private static let headers = ["Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json"]

    let request: SessionRequest
    private let texts: CStrings
    /// The value of the header Authorization; nil for a request without this header.
    private let authorization: SecretBytes?

    init(_ request: SessionRequest) throws(TokenKeepError) {
        self.request = request
        let isAboutAccess = request.purpose == .validate || request.purpose == .extend
        authorization = try isAboutAccess ? HTTPRequestHandle.bearer(request.token) : nil
        let method = request.purpose == .validate ? "GET" : "POST"
        texts = CStrings(
            [request.service, request.account, method, request.url ?? ""] + HTTPRequestHandle.headers
                + ["Authorization"])
    }

    private static func bearer(_ token: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let scheme = Array("Bearer ".utf8)
        return try SecretBytes(count: scheme.count + token.count) { bytes in
            bytes.copyBytes(from: scheme)
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[scheme.count...])
            token.withUnsafeBytes { rest.copyMemory(from: $0) }
        }
    }

    var service: UnsafePointer<CChar> { texts[0] }
    var account: UnsafePointer<CChar> { texts[1] }
    var method: UnsafePointer<CChar> { texts[2] }
    var url: UnsafePointer<CChar>? { request.url == nil ? nil : texts[3] }

    var headerCount: Int { HTTPRequestHandle.headers.count / 2 + (authorization == nil ? 0 : 1) }

    /// The name and value of the header at `index`; nil if there is no such header.
    func header(at index: Int) -> (name: UnsafePointer<CChar>, value: UnsafePointer<CChar>)? {
        guard (0..<headerCount).contains(index) else { return nil }
        let name = texts[4 + 2 * index]
        guard index < HTTPRequestHandle.headers.count / 2 else {
            return authorization.map { (name, $0.unsafeAddress.assumingMemoryBound(to: CChar.self)) }
        }
        return (name, texts[5 + 2 * index])
    }
}

/// A `tokenkeep_http_response`, which the application's function fills in on one thread.
final class HTTPResponseHandle {
    /// The maximum number of bytes of a body that are kept: one more than the limit of 256 KiB, so that a body over the
    /// limit is recognized.
    private static let longestBody = 262_145
    private static let mostHeaders = 256

    var status = 0
    private(set) var headers: [(name: String, value: String)] = []
    private var parts: [SecretBytes] = []
    private var length = 0
    private var problem: TokenKeepError?

    func addHeader(_ name: String, _ value: String) {
        if headers.count < HTTPResponseHandle.mostHeaders { headers.append((name, value)) }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        let room = HTTPResponseHandle.longestBody - length
        guard room > 0, !bytes.isEmpty, problem == nil else { return }
        do throws(TokenKeepError) {
            let part = try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
            parts.append(part)
            length += part.count
        } catch {
            problem = error
        }
    }

    /// Returns the answer that the application's function filled in.
    func response() throws(TokenKeepError) -> SessionResponse {
        if let problem { throw problem }
        let parts = parts
        let body = try SecretBytes(count: length) { bytes in
            var offset = 0
            for part in parts {
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
                part.withUnsafeBytes { target.copyMemory(from: $0) }
                offset += part.count
            }
        }
        return SessionResponse(status: status, headers: headers, body: body)
    }
}
