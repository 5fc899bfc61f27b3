import TokenKeepCore

/// The record of a session that has ended: its tokens are queued for revocation, and it is cleared.
extension SessionTransaction {
    /// Queues the tokens of an ended session for revocation, and clears its record, unless a new session has begun.
    ///
    /// - Parameter isLater: whether the logout itself is over: a record that another program wrote since is left alone.
    func clearEnded(isLater: Bool) throws(TokenKeepError) -> EndReport.Revocation {
        // A sign-in meanwhile has a note of its own.
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
        try apply(.ended)
        return isQueued ? .queued : .none
    }

    /// The record of an ended session, and the level of its item; nil if there is none.
    private func endedRecord() throws(TokenKeepError) -> (record: SessionRecord?, level: AccessLevel?) {
        guard let item = try storage.item(call) else { return (nil, nil) }
        do throws(TokenKeepError) {
            return (try SessionRecord(item.secret, now: storage.options.clock()), item.details.accessLevel)
        } catch {
            // A later TokenKeep's record stays as it is.
            guard error.status != .unsupported else { throw error }
            return (nil, nil)
        }
    }

    /// Queues the newest token of an ended session: the stash's, else the record's. Returns whether there is one.
    private func queueTokens(
        of record: SessionRecord?, _ level: AccessLevel?, _ note: SessionNote
    ) throws(TokenKeepError) -> Bool {
        let stashed = try storage.stashedRecord()
        var record = record
        // The stash has the newest refresh token.
        if let found = record, stashed?.refreshToken == nil || stashed?.epoch != found.epoch {
            record = try joinedOrCleared(found)
        }
        guard let newest = stashed ?? record else { return try queueRefreshToken(note) }
        // A stash of an earlier sign-in does not have the newest token of this sign-in.
        if let stashed, let record, stashed.epoch != record.epoch { try queue(record, level, note) }
        try queue(newest, level, note)
        return true
    }

    /// The record of an ended session with its refresh token. If the refresh token is locked, the record is cleared now: the
    /// token alone waits.
    private func joinedOrCleared(_ record: SessionRecord) throws(TokenKeepError) -> SessionRecord {
        do throws(TokenKeepError) {
            return try storage.joined(record, call)
        } catch {
            if storage.refreshItemBit(record.refreshItem) != 0 { try clearItem() }
            throw error
        }
    }

    /// Queues the refresh token of an ended session whose record is cleared. Returns whether there is one.
    private func queueRefreshToken(_ note: SessionNote) throws(TokenKeepError) -> Bool {
        guard note.refreshLevel != 0, let ended = note.endedEpoch,
            let entry = try storage.refreshEntry(of: ended, note, call)
        else { return false }
        try Outbox(storage.store, storage.options).add(
            entry.token, isRefresh: true, of: storage.name, entry.provider, level: entry.level)
        return true
    }
}
