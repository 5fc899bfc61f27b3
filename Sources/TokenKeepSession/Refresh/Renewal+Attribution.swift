import TokenKeepCore

/// Answers that are not this user's, or that nobody can read.
extension Renewal {
    /// Whether the ID token of an answer certainly names another person than that of the sign-in (OpenID Connect Core section
    /// 12.2).
    func isOfAnother(_ answer: RefreshAnswer, _ record: SessionRecord) -> Bool {
        guard case .tokens(let tokens) = answer else { return false }
        return isOfAnother(tokens, record)
    }

    func isOfAnother(_ tokens: TokenResponse, _ record: SessionRecord) -> Bool {
        guard let known = record.identity, let found = tokens.identity else { return false }
        return known.differs(from: found)
    }

    /// Queues another person's tokens for revocation, and ends the session: they are never used.
    ///
    /// - Returns: nil if the session ended meanwhile, or another one began.
    /// - Throws: ``Status/needsLogin``
    func endForAnother(
        _ tokens: TokenResponse, _ view: SessionView, _ record: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        if let token = tokens.refreshToken ?? tokens.accessToken {
            do throws(TokenKeepError) {
                try Outbox(session.store, options).add(
                    token, isRefresh: tokens.refreshToken != nil, of: session.name,
                    record.provider ?? view.note.provider, level: AccessLevel(rawValue: view.note.level))
            } catch {
                options.explain?("another user's token is not queued for revocation: \(error.message)")
            }
        }
        guard try end(.otherSubject, view) else { return nil }
        throw Session.ended(session.name, .otherSubject)
    }

    /// Keeps an answer that may have tokens beside those in force. A failure changes nothing.
    func keepUnread(_ answer: SecretBytes, _ view: SessionView) {
        guard answer.count > 0 else { return }
        let call = Renewal.saving.leasing(view.lease)
        do throws(TokenKeepError) {
            let lock = try session.changeLock(call)
            guard let record = try present(view.note, view, call), record.epoch == view.note.epoch,
                try record.keep(unread: answer)
            else { return }
            try session.save(record, level: nil, call)
            _ = consume lock
            options.explain?("kept the answer, which cannot be read, in the record")
        } catch {
            options.explain?("the answer, which cannot be read, is not kept: \(error.message)")
        }
    }
}
