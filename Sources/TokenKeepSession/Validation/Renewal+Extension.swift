import TokenKeepCore

extension Renewal {
    /// Asks the server to let the session last longer, under the refresh lock, and saves what it answers.
    ///
    /// - Returns: the access token if the server refuses it; nil if the session was extended.
    func extend(by seconds: UInt32) throws(TokenKeepError) -> SecretBytes? {
        let transport = try session.requiredTransport()
        let lock = try refreshLock()
        let view = withLease(try session.read(call))
        let record = try session.live(view)
        let space = try reserve(for: record)
        let request = try SessionRequest(
            .extend, session.name, record.accessToken, seconds: seconds, of: record.provider, session.store,
            options: options,
            deadline: Deadline(milliseconds: options.answerLimit))
        options.whileSending?(true)
        defer { options.whileSending?(false) }
        let sent = options.clock()
        let response: SessionResponse
        do throws(TokenKeepError) {
            response = try transport(request)
        } catch {
            throw session.unanswered(error, "the session was not extended")
        }
        guard response.status != 401 else { return record.accessToken }
        try session.check(response)
        space.release()
        let tokens = try response.body.withUnsafeBytes { bytes throws(TokenKeepError) in
            try TokenResponse(reading: bytes)
        }
        if let tokens { try save(tokens, response, sent: sent, view, record) }
        _ = consume lock
        return nil
    }

    private func save(
        _ tokens: TokenResponse, _ response: SessionResponse, sent: SessionTime, _ view: SessionView,
        _ record: SessionRecord
    ) throws(TokenKeepError) {
        let endedMeanwhile = TokenKeepError(.notFound, "the session ended while the server extended it")
        guard !isOfAnother(tokens, record) else {
            _ = try endForAnother(tokens, view, record)
            throw endedMeanwhile
        }
        let offset = serverClock(response).offset
        var extended = record
        if tokens.accessToken != nil || tokens.refreshToken != nil {
            try extended.apply(tokens, generation: record.generation &+ 1, now: sent, offset: offset)
        } else if let lifetime = tokens.expiresIn {
            try extended.extend(lifetime: lifetime, now: sent, offset: offset)
        } else {
            return
        }
        guard try save(extended, of: view, hasToken: true) != nil else { throw endedMeanwhile }
    }
}
