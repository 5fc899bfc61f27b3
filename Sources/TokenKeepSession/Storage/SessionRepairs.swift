import TokenKeepCore
import TokenKeepRecords

/// Reads a session and finishes the unfinished work of earlier calls, or of other programs. ``RepairRules`` decides.
extension SessionStorage {
    /// The maximum time, in milliseconds, that a repair waits for another process.
    private static let repairLimit: UInt32 = 1000

    /// Reads the session, and runs the repairs that are possible now.
    ///
    /// - Throws: the error of reading the record: ``Status/locked``, ``Status/unavailable`` and others.
    func read(_ call: CallContext) throws(TokenKeepError) -> SessionFacts {
        var facts = try factsWithoutRecord()
        if isDue(.stash, facts) {
            do throws(TokenKeepError) {
                try SessionTransaction(self, call, lockWithin: SessionStorage.repairLimit).saveStash()
            } catch {
                options.explain?("the last answer of the server stays in the stash: \(error.message)")
            }
            facts = try factsWithoutRecord()
        }
        try readRecord(into: &facts, call)
        if isDue(.takeOver, facts) { facts = try SessionTransaction(self, call).takeOver() }
        if isDue(.ended, facts) { try? finishEnd(call) }
        if isDue(.orphans, facts) {
            try? SessionTransaction(self, call, lockWithin: SessionStorage.repairLimit).dropOrphans()
        }
        return facts
    }

    private func isDue(_ repair: RepairRules.Repair, _ facts: SessionFacts) -> Bool {
        RepairRules.isDue(
            repair, facts.note, stashed: facts.stashed.map { RepairRules.stashed(epoch: $0.epoch, facts.note) },
            belonging: facts.foreign?.belonging, orphans: orphans(facts))
    }

    /// Queues the tokens of a session that ended while it was locked, and clears its record.
    ///
    /// - Throws: ``Status/locked`` if the record is still locked.
    func finishEnd(_ call: CallContext) throws(TokenKeepError) {
        guard let note = try note(), note.state == .signedOut, note.endedEpoch != nil else { return }
        _ = try SessionTransaction(self, call).clearEnded(isLater: true)
    }

    /// The bits of the refresh token items that no record needs. Only reliable while the change lock is held.
    fileprivate func orphans(_ facts: SessionFacts) -> UInt8 {
        RepairRules.orphans(
            facts.note, live: facts.record.map { refreshItemBit($0.refreshItem) }, hasForeign: facts.foreign != nil)
    }
}

extension SessionTransaction {
    /// Saves the tokens in the stash. If their session has ended, queues them for revocation.
    ///
    /// - Throws: an error if the tokens could not be saved and stay in the stash.
    func saveStash() throws(TokenKeepError) {
        // Without a note, the stash cannot be matched to a session. A damaged note is rebuilt when the session is read,
        // and a later call then saves the stash.
        guard let note = try storage.note(), let stashed = try storage.stashedRecord() else { return }
        switch RepairRules.stashed(epoch: stashed.epoch, note) {
        case .save: try save(stashed, note)
        case .queue:
            let live = try note.state == .signedOut ? nil : storage.item(call)
            let record = live.flatMap { try? SessionRecord($0.secret, now: storage.options.clock()) }
            try queue(stashed, live?.details.accessLevel, note, unlessOf: record)
        case .leave: return
        }
        try storage.stash.drop()
    }

    private func save(_ stashed: SessionRecord, _ note: SessionNote) throws(TokenKeepError) {
        // If there is no record, it is stored in a module that this store does not use, so the tokens stay in the
        // stash.
        guard let item = try storage.item(call) else {
            throw TokenKeepError(.notFound, "the record is not in its place")
        }
        var record = try SessionRecord(item.secret, now: storage.options.clock())
        // If the epochs differ, the record is another session's: a sign-in was interrupted, or another program wrote
        // the record. So the stash's tokens are revoked.
        guard record.epoch == note.epoch else {
            return try queue(stashed, item.details.accessLevel, note, unlessOf: record)
        }
        guard stashed.generation > record.generation else {
            try apply(.stashSaved(nil))
            return
        }
        try record.replaceTokens(by: stashed)
        try apply(.stashSaved(record))
        storage.options.explain?("the tokens of the stash are saved")
    }

    /// Takes over a record that the note does not describe: writes a note for a sign-in that was interrupted or made in
    /// another vault, and begins a session for a record of another program, which gets an epoch.
    ///
    /// - Returns: the session after the change.
    func takeOver() throws(TokenKeepError) -> SessionFacts {
        let present = try facts()
        guard let (record, belonging, details) = present.foreign else { return present }
        switch RepairRules.takeOver(belonging, present.note) {
        case .note:
            try apply(
                .takenOver(
                    record, level: details.accessLevel, vault: storage.vaultID(),
                    item: storage.refreshItemBit(record.refreshItem)))
        case .begin:
            storage.options.explain?("took over a record of another program")
            try begin(record, epoch: SessionEpoch.make(), level: nil)
        case .leave: return present
        }
        return try facts()
    }

    /// Clears the refresh token items of sign-ins that were interrupted or replaced.
    func dropOrphans() throws(TokenKeepError) {
        let orphans = try storage.orphans(facts())
        guard orphans != 0 else { return }
        storage.options.explain?("cleared the refresh token of a sign-in that was cut short or replaced")
        try dropRefreshItems(storage.refreshAccounts(orphans))
    }
}
