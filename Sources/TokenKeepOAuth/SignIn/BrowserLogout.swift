package import TokenKeepCore
package import TokenKeepSession

/// Signs the browser out at a provider (OpenID Connect RP-Initiated Logout 1.0). Without this, the provider may not ask
/// for a password at the next sign-in.
package struct BrowserLogout {
    /// The address of the end session endpoint, without the ID token.
    private let endpoint: WebAddress
    /// The address with the ID token, which only the browser receives.
    private let address: SecretBytes

    private static let glance: Int32 = 250

    /// Prepares the sign-out. Must be called before the session ends, because its ID token is read.
    ///
    /// - Throws: ``Status/unsupported`` if the session has no provider, or if the provider has no end session endpoint;
    ///   the errors of fetching metadata.
    package init(of session: SessionEngine, until deadline: Deadline) throws(TokenKeepError) {
        let sealed = try session.sealed()
        guard let name = sealed.provider else {
            throw TokenKeepError(
                .unsupported, "the session of \(session.name) has no provider, so its browser cannot be signed out")
        }
        let provider = try ProviderFiles.standard.existingProvider(named: name)
        guard let endpoint = try provider.endpoint(.endSessionEndpoint, until: deadline) else {
            throw TokenKeepError(
                .unsupported, "the provider \(name) has no end_session_endpoint",
                hint: provider[.sessionsPage].map { "sign the browser out at \($0)" } ?? "add it to \(provider.source)")
        }
        var fields: [(String, SecretBytes)] = []
        if let client = provider[.clientID] { fields.append(("client_id", try SecretBytes(client))) }
        // The ID token names the session, so the server need not ask the user to confirm the sign-out.
        if let token = sealed.idToken { fields.append(("id_token_hint", token)) }
        let mark = endpoint.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        self.endpoint = endpoint
        address = try SecretText.joined(endpoint.text + mark, SessionRequest.form(fields))
    }

    /// Opens the browser at the listener's start page, which redirects it to the server. The address with the ID token
    /// is not passed to the command that opens the browser, because other users can read its arguments.
    ///
    /// - Throws: ``Status/unavailable`` if no browser can be opened; ``Status/timedOut`` if the browser does not
    ///   request the page in time.
    package func run(
        until deadline: Deadline, opening open: SignInOptions.Open = { BrowserLaunch($0) }
    ) throws(TokenKeepError) {
        let listener = try LoopbackListener(RedirectAddress(nil), port: nil)
        let launch = open(listener.startAddress)
        var isDone = false
        while !isDone {
            try deadline.checkCancellation()
            guard !launch.hasFailed, !deadline.hasPassed else {
                throw TokenKeepError(
                    launch.hasFailed ? .unavailable : .timedOut, "no browser has opened the sign-out",
                    hint: "open \(endpoint.text) in the browser")
            }
            listener.serve(milliseconds: BrowserLogout.glance) { visit in
                guard visit.isTrusted else { return LoopbackReply(page: .otherUser) }
                guard case .start = visit.place else { return LoopbackReply(page: .notFound) }
                return LoopbackReply(page: .redirect(address)) { isDone = true }
            }
        }
    }

    /// The origin of the server that signs the browser out.
    package var server: String { endpoint.origin }
}
