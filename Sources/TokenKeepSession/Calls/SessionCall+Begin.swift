import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// Sign-ins.
extension SessionCall {
    /// Begins a session with the tokens of a sign-in.
    ///
    /// - Parameter revokes: whether the token of a session that is replaced is put into the outbox; nil for no.
    func begin(
        _ kind: SessionKind, _ response: TokenResponse, isFromServer: Bool = false,
        revokes: ((SessionRecord) -> Bool)? = nil
    ) throws(TokenKeepError) {
        // Queues the token of a session that ended while it was locked: the new record would overwrite the token.
        try? storage.finishEnd(context)
        let epoch = SessionEpoch.make()
        let vault = try storage.store.records.openOrMake(context)
        let record = try SessionRecord(
            kind, response, epoch: epoch, vault: Hexadecimal.text(vault.keys.vaultID), provider: options.provider,
            now: options.clock())
        func replace(keepsPrevious: Bool) throws(TokenKeepError) {
            let transaction = try SessionTransaction(storage, context)
            let present = revokes == nil ? nil : signedInRecord(transaction)
            let replaced = present.flatMap { revokes?($0.record) == true ? $0 : nil }
            try transaction.begin(
                record, epoch: epoch, level: options.level, isFromServer: isFromServer, keepsPrevious: keepsPrevious)
            // The new session stands, whatever becomes of the old token.
            if let replaced { try? transaction.queue(replaced.record, replaced.level, replaced.note, unlessOf: record) }
        }
        do throws(TokenKeepError) {
            try prompting { () throws(TokenKeepError) in try replace(keepsPrevious: true) }
        } catch {
            // The new session must not depend on the old refresh token, which may stay locked or unreadable.
            guard try storage.note()?.refreshLevel ?? 0 != 0, !context.deadline.isCancelled, error.status != .busy
            else {
                throw error
            }
            try replace(keepsPrevious: false)
        }
        try Sessions(storage.store).activateIfNoneIs(name, context)
    }

    /// The record of the present session with its refresh token, its level and its note; nil if nobody is signed in, or the
    /// record cannot be read.
    private func signedInRecord(
        _ transaction: borrowing SessionTransaction
    ) -> (record: SessionRecord, level: AccessLevel?, note: SessionNote)? {
        // Without a record, live(_:) would read the note of every account for its hint.
        guard let facts = try? transaction.facts(), facts.record != nil, let record = try? storage.live(facts),
            let joined = try? storage.joined(record, transaction.call)
        else { return nil }
        return (joined, facts.level, facts.note)
    }
}
