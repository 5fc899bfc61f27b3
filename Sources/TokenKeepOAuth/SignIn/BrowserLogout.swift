package import TokenKeepCore
package import TokenKeepSession

/// Signs the browser out at a provider (OpenID Connect RP-Initiated Logout 1.0). Otherwise the next sign-in there may
/// need no password.
package struct BrowserLogout {
    /// The address of the end session endpoint, without the ID token.
    private let endpoint: WebAddress
    /// The address with the ID token, which only the browser receives.
    private let address: SecretBytes

    private static let glance: Int32 = 250

    /// Prepares the sign-out from a session that has not ended yet.
    ///
    /// - Throws: ``Status/unsupported`` if the session has no provider, or the provider has no such endpoint; the
    ///   errors of fetching metadata.
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
        // Without the ID token, the server asks the user to confirm.
        if let token = sealed.idToken { fields.append(("id_token_hint", token)) }
        let mark = endpoint.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        self.endpoint = endpoint
        address = try SecretText.joined(endpoint.text + mark, SessionRequest.form(fields))
    }

    /// Opens the browser, which is redirected to the server. The browser's command gets the address of the listener's
    /// start page, because other users can read its arguments.
    ///
    /// - Throws: ``Status/unavailable`` if no browser can be opened, ``Status/timedOut``.
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
