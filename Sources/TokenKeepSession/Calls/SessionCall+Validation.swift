import TokenKeepCore

/// Requests to the server that validate or extend a session.
extension SessionCall {
    /// Asks the server whether it still accepts the access token. After the answer 401, renews the token and asks once
    /// more.
    func validate() throws(TokenKeepError) {
        let transport = try storage.requiredTransport()
        var token = try presentToken()
        try checkCoolDown()
        var response = try ask(.validate, token, transport)
        if response.status == 401 {
            options.explain?("the server refuses the token of generation \(token.generation)")
            token = try rejected(token.value)
            response = try ask(.validate, token, transport)
            guard response.status != 401 else { throw refusesEveryToken }
        }
        try storage.check(response)
        try noteValidation()
    }

    /// Asks the server to extend the session by a number of seconds.
    func extend(by seconds: UInt32) throws(TokenKeepError) {
        _ = try presentToken()
        try checkCoolDown()
        let renewal = Renewal(storage, isExtension: true, context)
        if let refused = try renewal.extend(by: seconds) {
            _ = try rejected(refused)
            guard try renewal.extend(by: seconds) == nil else { throw refusesEveryToken }
        }
        try noteValidation()
    }

    private var refusesEveryToken: TokenKeepError {
        TokenKeepError(
            .denied, "the server refuses a token that it has just given (401)",
            hint: "the session was renewed and goes on; check that this endpoint takes the tokens of this server")
    }

    /// Validates the session if the server last accepted its token at least `seconds` seconds ago.
    ///
    /// - Throws: the errors of ``validate()``; a provider without an endpoint for validation is no error.
    func validateIfDue(after seconds: Int64) throws(TokenKeepError) {
        guard options.transport != nil, let note = try storage.note(), note.state != .signedOut else {
            return
        }
        let (age, isBeyond) = options.clock().wall.subtractingReportingOverflow(note.validatedAt)
        // A last validation in the future means that the clock was set back, so the age is unknown and the session is
        // validated.
        guard isBeyond || age < 0 || age >= seconds else { return }
        do throws(TokenKeepError) {
            try validate()
        } catch {
            // An unsupported request means that the provider has no endpoint for validation.
            guard error.status == .unsupported else { throw error }
        }
    }

    private func ask(
        _ purpose: SessionRequest.Purpose, _ token: SessionToken, _ transport: SessionTransport
    ) throws(TokenKeepError) -> SessionResponse {
        let limit = context.deadline.within(milliseconds: options.answerLimit)
        let request = try SessionRequest(
            purpose, name, token.value, of: token.provider, storage.store, options: options, deadline: limit)
        do throws(TokenKeepError) {
            return try transport(request)
        } catch {
            throw storage.unanswered(error, "the server did not answer")
        }
    }

    /// Throws while the server must not be asked (a cool-down). Any process may have received the server's request to
    /// wait.
    ///
    /// - Throws: ``Status/unavailable`` during a cool-down.
    private func checkCoolDown() throws(TokenKeepError) {
        if let note = try storage.note(), let seconds = note.coolDown(at: options.clock()) {
            throw note.notAsked(seconds)
        }
    }

    /// Writes the time of the successful validation into the note. Does not signal watchers.
    private func noteValidation() throws(TokenKeepError) {
        try SessionTransaction(storage, Renewal.saving).apply(.validated)
    }
}

extension SessionStorage {
    func requiredTransport() throws(TokenKeepError) -> SessionTransport {
        try options.requiredTransport(orThrow: "nothing was given that asks the server about \(name)")
    }

    /// Returns the error for a request without an answer: ``Status/unavailable``. An error of our own transport about a
    /// wrong provider or call, or a cancellation, is returned unchanged.
    func unanswered(_ error: TokenKeepError, _ message: String) -> TokenKeepError {
        let isOurs = options.transportNotesSending
        guard !isOurs || ![.unsupported, .invalid, .denied, .cancelled].contains(error.status) else { return error }
        return TokenKeepError(
            .unavailable, "\(message): \(error.message)", module: "server", hint: error.hint)
    }

    /// Throws unless the status is 200 to 299 and the body is neither a web page nor an error. A wait that the server
    /// demands (429, 503) is written into the note, so that all processes keep it.
    func check(_ response: SessionResponse) throws(TokenKeepError) {
        switch response.status {
        case 200..<300 where response.isPage:
            throw TokenKeepError(
                .unavailable, "the server answered \(response.status) with a page, which says neither yes nor no",
                module: "server", hint: "check the address and the network: a proxy or a portal may have answered")
        case 200..<300 where response.hasError:
            throw TokenKeepError(
                .unavailable, "the server answered \(response.status) with an error, which is no yes",
                module: "server", hint: "check the address of the endpoint")
        case 200..<300: return
        case 401, 403:
            throw TokenKeepError(
                .denied, "the server refuses the token (\(response.status))", hint: "the session was not changed")
        default:
            if response.status == 429 || response.status == 503 { try noteCoolDown(response) }
            throw TokenKeepError(
                .unavailable, "the server answered \(response.status)", module: "server", hint: "try again later")
        }
    }

    private func noteCoolDown(_ response: SessionResponse) throws(TokenKeepError) {
        let wall = options.clock().wall
        let wait = response.wait(serverTime: response.header("Date").flatMap { HTTPDate.seconds($0) } ?? wall)
        try SessionTransaction(self, Renewal.saving)
            .apply(.coolDown(.asksToWait(wait), "\(SessionNote.asksToWait) (\(response.status))"))
    }
}
