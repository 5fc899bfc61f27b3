import TokenKeepCore
import TokenKeepRecords

/// The reading of a session that finishes what earlier calls, or other programs, left. ``RepairRules`` decides.
extension SessionStorage {
    /// A repair does not wait longer for another process, in milliseconds.
    private static let repairLimit: UInt32 = 1000

    /// Reads the session, and finishes what can be finished now.
    ///
    /// - Throws: the reason why the record cannot be read: ``Status/locked``, ``Status/unavailable`` and others.
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

    /// Queues and clears the record of a session that ended while it was locked; does nothing if it is still locked.
    func finishEnd(_ call: CallContext) throws(TokenKeepError) {
        guard let note = try note(), note.state == .signedOut, note.endedEpoch != nil else { return }
        _ = try SessionTransaction(self, call).clearEnded(isLater: true)
    }

    /// The items that may have a refresh token that no record needs. Only under the change lock it is certain.
    fileprivate func orphans(_ facts: SessionFacts) -> UInt8 {
        RepairRules.orphans(
            facts.note, live: facts.record.map { refreshItemBit($0.refreshItem) }, hasForeign: facts.foreign != nil)
    }
}

extension SessionTransaction {
    /// Saves the answer that waits in the stash. The answer for a session that ended is queued for revocation.
    ///
    /// - Throws: the reason why it still waits.
    func saveStash() throws(TokenKeepError) {
        // A damaged note is rebuilt first: without it, nobody knows which session the stash belongs to.
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
        // Without a record, its place is not among this store's modules.
        guard let item = try storage.item(call) else {
            throw TokenKeepError(.notFound, "the record is not in its place")
        }
        var record = try SessionRecord(item.secret, now: storage.options.clock())
        // The record of a sign-in that was cut short, or of another program, is another session.
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

    /// Writes the note of a record that has none, that another program wrote or another vault began, or whose sign-in was
    /// cut short. The record gets an epoch if it has none.
    ///
    /// - Returns: the session; without a record if that is dead.
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

    /// Clears the items of a sign-in that was cut short before its record, and those that a sign-in has replaced.
    func dropOrphans() throws(TokenKeepError) {
        let orphans = try storage.orphans(facts())
        guard orphans != 0 else { return }
        storage.options.explain?("cleared the refresh token of a sign-in that was cut short or replaced")
        try dropRefreshItems(storage.refreshAccounts(orphans))
    }
}
