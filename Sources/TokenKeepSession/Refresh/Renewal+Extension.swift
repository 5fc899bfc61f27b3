import TokenKeepCore
import TokenKeepRecords

extension Renewal {
    /// Asks the server, under the refresh lock, to extend the session, and saves its answer.
    ///
    /// - Returns: the access token if the server refused it; nil if the session was extended.
    func extend(by seconds: UInt32) throws(TokenKeepError) -> SecretBytes? {
        let transport = try storage.requiredTransport()
        let lock = try refreshLock()
        return try extend(by: seconds, transport, under: lock)
    }

    private func extend(
        by seconds: UInt32, _ transport: SessionTransport, under _: borrowing SessionLock
    ) throws(TokenKeepError) -> SecretBytes? {
        let facts = withLease(try storage.read(call))
        let record = try storage.live(facts)
        let space = try reserve(for: record)
        let request = try SessionRequest(
            .extend, storage.name, record.accessToken, seconds: seconds, of: record.provider, storage.store,
            options: options,
            deadline: Deadline(milliseconds: options.answerLimit))
        options.whileSending?(true)
        defer { options.whileSending?(false) }
        let sent = options.clock()
        let response: SessionResponse
        do throws(TokenKeepError) {
            response = try transport(request)
        } catch {
            throw storage.unanswered(error, "the session was not extended")
        }
        guard response.status != 401 else { return record.accessToken }
        try storage.check(response)
        space.release()
        let tokens = try response.body.withUnsafeBytes { bytes throws(TokenKeepError) in
            try TokenResponse(reading: bytes)
        }
        if let tokens { try save(tokens, response, sent: sent, facts, record) }
        return nil
    }

    private func save(
        _ tokens: TokenResponse, _ response: SessionResponse, sent: SessionTime, _ facts: SessionFacts,
        _ record: SessionRecord
    ) throws(TokenKeepError) {
        let endedMeanwhile = TokenKeepError(.notFound, "the session ended while the server extended it")
        guard !isOfAnother(tokens, record) else {
            _ = try endForAnother(tokens, facts, record)
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
        guard try save(extended, of: facts) != nil else { throw endedMeanwhile }
    }
}
