import TokenKeepCore

/// Finishes an ended session: queues its tokens for revocation, and clears its record.
extension SessionTransaction {
    /// Queues the tokens of an ended session for revocation, and clears its record, unless a new session has begun.
    ///
    /// - Parameter isLater: whether the logout was made by an earlier call. Then a record that another program wrote
    ///   after the logout is kept.
    func clearEnded(isLater: Bool) throws(TokenKeepError) -> EndReport.Revocation {
        // If the state is no longer signed-out, a sign-in has begun meanwhile, and its record must not be cleared.
        guard let note = try storage.note(), note.state == .signedOut, note.endedEpoch != nil else { return .none }
        let isUnread = RepairRules.clearsUnread(note, isLater: isLater)
        let (record, level) = try isUnread ? (nil, nil) : endedRecord()
        let found = record.map { RepairRules.EndedRecord.record(epoch: $0.epoch) } ?? .none
        guard let ending = RepairRules.ended(found, note, isLater: isLater) else { return .none }
        let isQueued = try ending.queues ? queueTokens(of: ending.clears ? record : nil, level, note) : false
        if ending.clears { try clearItem() }
        let named = ending.clears ? [record?.refreshItem].compactMap { $0 } : []
        try dropRefreshItems(Set(storage.refreshAccounts(note.refreshItems) + named).sorted())
        try storage.stash.drop()
        try apply(.ended(epoch: note.endedEpoch ?? ""))
        return isQueued ? .queued : .none
    }

    /// Reads the record of an ended session, and the level of its item; nil for both if there is no readable record.
    private func endedRecord() throws(TokenKeepError) -> (record: SessionRecord?, level: AccessLevel?) {
        guard let item = try storage.item(call) else { return (nil, nil) }
        do throws(TokenKeepError) {
            return (try SessionRecord(item.secret, now: storage.options.clock()), item.details.accessLevel)
        } catch {
            // A record that a later TokenKeep wrote must not be cleared, so the error is thrown.
            guard error.status != .unsupported else { throw error }
            return (nil, nil)
        }
    }

    /// Queues the newest token of an ended session for revocation: the token in the stash, otherwise the token in the
    /// record. Returns whether there was a token.
    private func queueTokens(
        of record: SessionRecord?, _ level: AccessLevel?, _ note: SessionNote
    ) throws(TokenKeepError) -> Bool {
        let stashed = try storage.stashedRecord()
        var record = record
        // If the stash has a newer refresh token of this session, the refresh token's item need not be loaded.
        if let found = record, stashed?.refreshToken == nil || stashed?.epoch != found.epoch {
            record = try joinedOrCleared(found)
        }
        guard let newest = stashed ?? record else { return try queueRefreshToken(note) }
        // If the stash belongs to an earlier sign-in, the tokens of both sign-ins are revoked.
        if let stashed, let record, stashed.epoch != record.epoch { try queue(record, level, note) }
        try queue(newest, level, note)
        return true
    }

    /// Returns the record of an ended session with its refresh token. If the refresh token's item cannot be read,
    /// clears the record and throws, so that only the refresh token remains to be queued later.
    private func joinedOrCleared(_ record: SessionRecord) throws(TokenKeepError) -> SessionRecord {
        do throws(TokenKeepError) {
            return try storage.joined(record, call)
        } catch {
            if storage.refreshItemBit(record.refreshItem) != 0 { try clearItem() }
            throw error
        }
    }

    /// Queues the refresh token of an ended session whose record is already cleared. Returns whether there was a
    /// refresh token.
    private func queueRefreshToken(_ note: SessionNote) throws(TokenKeepError) -> Bool {
        guard note.refreshLevel != 0, let ended = note.endedEpoch,
            let entry = try storage.refreshEntry(of: ended, note, call)
        else { return false }
        try Outbox(storage.store, storage.options).add(
            entry.token, isRefresh: true, of: storage.name, entry.provider, level: entry.level)
        return true
    }
}
