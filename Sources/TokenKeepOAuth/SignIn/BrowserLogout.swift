package import TokenKeepCore
package import TokenKeepSession

/// The sign-out of the browser at a provider (OpenID Connect RP-Initiated Logout 1.0): else the next sign-in there asks for
/// no password.
package struct BrowserLogout {
    /// The address of the end session endpoint, without the ID token.
    private let endpoint: WebAddress
    /// The address with the ID token, for the browser alone.
    private let address: SecretBytes

    private static let glance: Int32 = 250

    /// Takes what the sign-out needs from a session that has not ended yet.
    ///
    /// - Throws: ``Status/unsupported`` if the session has no provider, or the provider no such endpoint; the errors of a
    ///   discovery.
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
        // Without the token the server asks the user.
        if let token = sealed.idToken { fields.append(("id_token_hint", token)) }
        let mark = endpoint.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        self.endpoint = endpoint
        address = try SecretText.joined(endpoint.text + mark, SessionRequest.form(fields))
    }

    /// Opens the browser, and leads it to the server. Other users can read the arguments of the browser's command: it gets
    /// the listener's own page.
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

    /// The server that signs the browser out.
    package var server: String { endpoint.origin }
}
