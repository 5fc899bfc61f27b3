import TokenKeepCore

/// Handles answers with another user's tokens, and unreadable answers.
extension Renewal {
    /// Whether an answer's ID token certainly names another person than the sign-in did (OpenID Connect Core section
    /// 12.2).
    func isOfAnother(_ answer: RefreshAnswer, _ record: SessionRecord) -> Bool {
        guard case .tokens(let tokens) = answer else { return false }
        return isOfAnother(tokens, record)
    }

    func isOfAnother(_ tokens: TokenResponse, _ record: SessionRecord) -> Bool {
        guard let known = record.identity, let found = tokens.identity else { return false }
        return known.differs(from: found)
    }

    /// Queues another person's tokens for revocation instead of using them, and ends the session.
    ///
    /// - Returns: nil if the session has ended meanwhile, or another session has begun.
    /// - Throws: ``Status/needsLogin`` if this call ended the session.
    func endForAnother(
        _ tokens: TokenResponse, _ facts: SessionFacts, _ record: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        if let token = tokens.refreshToken ?? tokens.accessToken {
            do throws(TokenKeepError) {
                try Outbox(storage.store, options).add(
                    token, isRefresh: tokens.refreshToken != nil, of: storage.name,
                    record.provider, level: facts.level ?? AccessLevel(rawValue: facts.note.level))
            } catch {
                options.explain?("another user's token is not queued for revocation: \(error.message)")
            }
        }
        guard try end(.otherSubject, facts) else { return nil }
        throw storage.ended(.otherSubject, of: record)
    }

    /// Stores an unreadable answer, which may have tokens, in the session's record. If this fails, the record stays
    /// unchanged.
    func keepUnread(_ answer: SecretBytes, _ facts: SessionFacts) {
        guard answer.count > 0 else { return }
        do throws(TokenKeepError) {
            let transaction = try SessionTransaction(storage, Renewal.saving.leasing(facts.lease))
            guard let record = try present(facts.note, facts, transaction.call), record.epoch == facts.note.epoch,
                try record.keep(unread: answer)
            else { return }
            try transaction.apply(.unread(record))
            options.explain?("kept the answer, which cannot be read, in the record")
        } catch {
            options.explain?("the answer, which cannot be read, is not kept: \(error.message)")
        }
    }
}
