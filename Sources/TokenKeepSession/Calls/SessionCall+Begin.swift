import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// Begins sessions.
extension SessionCall {
    /// Begins a session with the tokens of a sign-in.
    ///
    /// - Parameters:
    ///   - offset: the server's clock minus the wall clock, in seconds.
    ///   - revokes: returns whether the tokens of the replaced session are queued for revocation; nil to queue none.
    func begin(
        _ kind: SessionKind, _ response: TokenResponse, isFromServer: Bool = false, offset: Int64 = 0,
        revokes: ((SessionRecord) -> Bool)? = nil
    ) throws(TokenKeepError) {
        // If the account's last session ended while locked, its tokens are queued for revocation now, because the new
        // record would overwrite them.
        try? storage.finishEnd(context)
        let epoch = SessionEpoch.make()
        let vault = try storage.store.records.openOrMake(context)
        let record = try SessionRecord(
            kind, response, epoch: epoch, vault: Hexadecimal.text(vault.keys.vaultID), provider: options.provider,
            now: options.clock(), offset: offset)
        func replace(keepsPrevious: Bool) throws(TokenKeepError) {
            let transaction = try SessionTransaction(storage, context)
            let present = revokes == nil ? nil : signedInRecord(transaction)
            let replaced = present.flatMap { revokes?($0.record) == true ? $0 : nil }
            try transaction.begin(
                record, epoch: epoch, level: options.level, isFromServer: isFromServer, keepsPrevious: keepsPrevious)
            // The new session is saved already, so a failure to revoke the old token is ignored.
            if let replaced { try? transaction.queue(replaced.record, replaced.level, replaced.note, unlessOf: record) }
        }
        do throws(TokenKeepError) {
            try prompting { () throws(TokenKeepError) in try replace(keepsPrevious: true) }
        } catch {
            // The failure may come from the old refresh token's item, which may be locked or unreadable. It must not
            // prevent the new session, so the old refresh token is given up.
            guard try storage.note()?.refreshLevel ?? 0 != 0, !context.deadline.isCancelled, error.status != .busy
            else {
                throw error
            }
            try replace(keepsPrevious: false)
        }
        try Sessions(storage.store).activateIfNoneIs(name, context)
    }

    /// The record of the present session with its refresh token, the level of its item and the note; nil if nobody is
    /// signed in or the record is unreadable.
    private func signedInRecord(
        _ transaction: borrowing SessionTransaction
    ) -> (record: SessionRecord, level: AccessLevel?, note: SessionNote)? {
        // Without a record, live(_:) would read the notes of all accounts only to make a hint that is not used here. So
        // a record is checked for first.
        guard let facts = try? transaction.facts(), facts.record != nil, let record = try? storage.live(facts),
            let joined = try? storage.joined(record, transaction.call)
        else { return nil }
        return (joined, facts.level, facts.note)
    }
}
