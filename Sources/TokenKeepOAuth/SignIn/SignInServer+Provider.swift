package import TokenKeepCore
package import TokenKeepEngine
import TokenKeepSession

extension SignInServer {
    /// Called with true before a request that may return tokens is sent, and with false if the answer has no tokens.
    package typealias WhileSending = @Sendable (Bool) -> Void

    /// Creates the server that a provider's file describes.
    ///
    /// A wrong address of the token or authorization endpoint is an error here. A wrong address of another endpoint is an
    /// error of the call that uses this endpoint.
    ///
    /// - Parameters:
    ///   - store: the store with the client's secret, if the file names an item for the secret.
    ///   - deadline: the time limit for fetching metadata.
    ///   - whileSending: called before a request that may return tokens, during which the program should not be ended;
    ///     nil to call nothing.
    ///
    /// - Throws: ``Status/invalid`` if the file has no `client_id`; ``Status/unsupported`` if there is no token
    ///   endpoint; the errors of fetching metadata.
    package init(
        _ provider: Provider, _ store: Store, until deadline: Deadline, _ whileSending: WhileSending? = nil
    ) throws(TokenKeepError) {
        let client = try SignInServer.client(of: provider)
        let metadata = try provider.metadata(until: deadline)
        let known = SignInServer.keys.mapValues { key in
            Result { () throws(TokenKeepError) in try provider.endpoint(key, in: metadata) }
        }
        guard try known[.token]?.get() != nil else {
            throw TokenKeepError(
                .unsupported, "the provider \(provider.name) has no token_endpoint",
                hint: "add it to \(provider.source)")
        }
        self.init(name: provider.name, clientID: client) { endpoint, fields, deadline throws(TokenKeepError) in
            guard let address = try known[endpoint]?.get() else {
                throw TokenKeepError(
                    .unsupported, "the provider \(provider.name) has no \(SignInServer.keys[endpoint]?.rawValue ?? "")",
                    hint: endpoint == .deviceAuthorization ? "use --flow paste" : nil)
            }
            let request = try SignInServer.request(fields, to: address, provider, client, store, deadline)
            let answer = try SignInServer.send(request, to: endpoint, whileSending)
            provider.forgetMetadata(after: answer.status, of: SignInServer.keys[endpoint].map { [$0] } ?? [])
            return answer
        }
        authorizationEndpoint = try provider.endpoint(.authorizationEndpoint, in: metadata)
        hasDeviceFlow = (try? known[.deviceAuthorization]?.get()) != nil
        canRevoke = (try? known[.revocation]?.get()) != nil
        if let address = (try? provider.endpoint(.userinfoEndpoint, in: metadata)) ?? nil {
            let caFile = provider[.caFile]
            askUserinfo = { token, deadline throws(TokenKeepError) in
                try SignInServer.userinfo(at: address, token, caFile: caFile, until: deadline)
            }
        }
        redirect = provider[.redirect]
        if let claim = provider[.accountClaim] { accountClaims = [claim] }
        issuer = provider[.issuer]
        postsAnswers = SignInServer.sendsForms(provider, metadata)
        // The server promises to name its issuer in each answer (RFC 9207 section 3).
        promisesIssuer = metadata?["authorization_response_iss_parameter_supported"]?.isTrue ?? false
    }

    /// Whether the server sends answers as forms, according to the provider's file, otherwise to the server's metadata.
    private static func sendsForms(_ provider: Provider, _ metadata: JSONValue?) -> Bool {
        if let mode = provider[.responseMode] { return mode == "form_post" }
        return metadata?["response_modes_supported"]?.texts.contains("form_post") ?? false
    }

    /// Sends a request for tokens. Waits for the answer even if the call is cancelled, because tokens that were not
    /// received would stay valid at the server.
    private static func sendForTokens(
        _ request: HTTPRequest, _ whileSending: WhileSending?
    ) throws(TokenKeepError) -> HTTPResponse {
        var request = request
        request.keepsAnswer = true
        request.whenSending = { () throws(TokenKeepError) in whileSending?(true) }
        var isGranted = false
        defer { if !isGranted { whileSending?(false) } }
        let answer = try send(request)
        isGranted = ServerRefusal.givesTokens(answer)
        return answer
    }

    private static func send(
        _ request: HTTPRequest, to endpoint: Endpoint, _ whileSending: WhileSending?
    ) throws(TokenKeepError) -> HTTPResponse {
        switch endpoint {
        case .token: try sendForTokens(request, whileSending)
        case .polling: try sendForTokens(hurried(request), whileSending)
        case .deviceAuthorization, .revocation: try send(request)
        }
    }

    /// Limits the wait for the answer of a poll to the deadline, but not to less than two seconds. Most answers of
    /// polls have no tokens, so a longer wait is not worthwhile.
    private static func hurried(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        let left = max(request.deadline.remainingMilliseconds, leastWait)
        request.limits.answer = min(request.limits.answer, left)
        request.limits.whole = min(request.limits.whole, left)
        return request
    }

    /// The minimum time to wait for an answer, in milliseconds. Even a distant server answers within this time.
    private static let leastWait: UInt32 = 2000

    /// Requests the claims about the user to whom an access token belongs (OpenID Connect Core section 5.3).
    private static func userinfo(
        at address: WebAddress, _ token: SecretBytes, caFile: String?, until deadline: Deadline
    ) throws(TokenKeepError) -> HTTPResponse {
        var request = HTTPRequest(address, deadline: deadline)
        request.headers = [
            try SecretBytes("Accept: application/json"),
            try HTTPRequest.header("Authorization", SecretText.joined("Bearer ", token)),
        ]
        request.caFile = caFile
        return try send(request)
    }

    private static let keys: [Endpoint: ProviderKey] = [
        .token: .tokenEndpoint, .polling: .tokenEndpoint, .deviceAuthorization: .deviceAuthorizationEndpoint,
        .revocation: .revocationEndpoint,
    ]

    private static func client(of provider: Provider) throws(TokenKeepError) -> String {
        guard let client = provider[.clientID] else {
            throw TokenKeepError(
                .invalid, "the provider \(provider.name) has no client_id",
                hint: "register a client at the server, and write client_id = ID into a file that includes this one")
        }
        return client
    }

    private static func request(
        _ fields: [(String, SecretBytes)], to address: WebAddress, _ provider: Provider, _ client: String,
        _ store: Store, _ deadline: Deadline
    ) throws(TokenKeepError) -> HTTPRequest {
        var form = ClientAuthentication(headers: [try SecretBytes("Accept: application/json")], fields: fields)
        try form.add(client, of: provider, store, mayPrompt: true, until: deadline)
        var request = HTTPRequest(address, body: try SessionRequest.form(form.fields), deadline: deadline)
        request.headers = form.headers
        request.caFile = provider[.caFile]
        return request
    }

    private static func send(_ request: HTTPRequest) throws(TokenKeepError) -> HTTPResponse {
        do throws(HTTPFailure) {
            return try HTTPClient.send(request)
        } catch {
            throw error.error
        }
    }
}
