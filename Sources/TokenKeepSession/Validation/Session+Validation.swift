public import TokenKeepCore

extension Session {
    private static let extensions: ClosedRange<UInt32> = 300...31_536_000

    /// Asks the server whether it still accepts the access token. A token that it refuses with 401 is renewed, once.
    ///
    /// - Throws: as ``token(minTTL:for:)`` and ``rejected(_:for:)``; ``Status/denied`` if the server refuses the renewed
    ///   token too, ``Status/unavailable`` if it does not answer. Only ``rejected(_:for:)`` may end the session.
    public func validate() throws(TokenKeepError) {
        let transport = try requiredTransport()
        let call = try begin()
        var token = try presentToken(call)
        try checkCoolDown()
        var response = try ask(.validate, token, transport, call)
        if response.status == 401 {
            options.explain?("the server refuses the token of generation \(token.generation)")
            token = try rejected(token.value, call)
            response = try ask(.validate, token, transport, call)
        }
        try check(response)
        try noteValidation()
    }

    /// Asks the server to let the session last longer, and saves its answer: new tokens, a new `expires_in`, or neither.
    ///
    /// - Parameter seconds: 300 to 31 536 000, five minutes to a year.
    /// - Throws: ``Status/invalid`` for another time; nothing was sent then. Else as ``validate()``.
    public func extend(by seconds: UInt32) throws(TokenKeepError) {
        guard Session.extensions.contains(seconds) else {
            throw TokenKeepError(
                .invalid,
                "a session is extended by \(Session.extensions.lowerBound) to "
                    + "\(Session.extensions.upperBound) seconds",
                hint: "five minutes to a year")
        }
        _ = try requiredTransport()
        let call = try begin()
        _ = try presentToken(call)
        try checkCoolDown()
        let renewal = Renewal(self, isExtension: true, call)
        if let refused = try renewal.extend(by: seconds) {
            _ = try rejected(refused, call)
            guard try renewal.extend(by: seconds) == nil else {
                throw TokenKeepError(.denied, "the server refuses a token that it has just given")
            }
        }
        try noteValidation()
    }

    /// Validates the session if nothing was heard from the server for a heartbeat.
    ///
    /// - Throws: the reason why the session is over. A server that is away is no error.
    func validateIfDue(after seconds: Int64) throws(TokenKeepError) {
        guard options.transport != nil, let note = try note(), note.state != .signedOut else {
            return
        }
        let (age, isBeyond) = options.clock().wall.subtractingReportingOverflow(note.validatedAt)
        // A validation in the future was noted before the clock was set back.
        guard isBeyond || age < 0 || age >= seconds else { return }
        do throws(TokenKeepError) {
            try validate()
        } catch {
            // A provider without an endpoint that validates.
            guard error.status == .unsupported else { throw error }
        }
    }

    func requiredTransport() throws(TokenKeepError) -> SessionTransport {
        try options.requiredTransport(orThrow: "nothing was given that asks the server about \(name)")
    }

    private func ask(
        _ purpose: SessionRequest.Purpose, _ token: SessionToken, _ transport: SessionTransport, _ call: CallContext
    ) throws(TokenKeepError) -> SessionResponse {
        let limit = call.deadline.within(milliseconds: options.answerLimit)
        let request = try SessionRequest(
            purpose, name, token.value, of: token.provider, store, options: options, deadline: limit)
        do throws(TokenKeepError) {
            return try transport(request)
        } catch {
            throw unanswered(error, "the server did not answer")
        }
    }

    /// The error of a request without an answer. An error that names a wrong provider or call is passed on.
    func unanswered(_ error: TokenKeepError, _ message: String) -> TokenKeepError {
        let isOurs = options.transportNotesSending
        guard !isOurs || ![.unsupported, .invalid, .denied, .cancelled].contains(error.status) else { return error }
        return TokenKeepError(
            .unavailable, "\(message): \(error.message)", module: "server", hint: error.hint)
    }

    /// - Throws: ``Status/unavailable`` while the server asks to wait, whoever was told so.
    private func checkCoolDown() throws(TokenKeepError) {
        if let note = try note(), let seconds = note.coolDown(at: options.clock()) { throw note.coolingDown(seconds) }
    }

    /// Accepts the statuses from 200 to 299. Notes for all processes that the server asks to wait.
    func check(_ response: SessionResponse) throws(TokenKeepError) {
        switch response.status {
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
        let now = options.clock()
        let wait = response.wait(serverTime: response.header("Date").flatMap(HTTPDate.seconds) ?? now.wall)
        try changeNote(Renewal.saving) { note in
            guard note.state == .user || note.state == .guest else { return false }
            note.coolDown(after: .asksToWait(wait), "it asks to wait (\(response.status))", now: now)
            return true
        }
    }

    /// Notes that the server has accepted the token. Nobody is woken for it.
    private func noteValidation() throws(TokenKeepError) {
        let now = options.clock().wall
        try changeNote(Renewal.saving) { note in
            guard note.state == .user || note.state == .guest else { return false }
            note.validatedAt = now
            return true
        }
    }
}
