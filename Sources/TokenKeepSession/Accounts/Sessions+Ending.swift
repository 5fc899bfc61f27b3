import TokenKeepCore

/// Ends sessions in a fixed order: acquires the change lock, makes the account inactive, then writes the end into the
/// note.
extension Sessions {
    /// The maximum wait, in milliseconds, for the lock of the pointer to the active account. A stopped process that
    /// holds this lock can then not delay a logout longer.
    private static let pointerLimit: UInt32 = 1000

    /// Runs `body`, which ends a session, under the session's change lock.
    ///
    /// The account is made inactive before its session ends, so that a process killed in between leaves no pointer to
    /// an ended session. If the session did not end, the account is made active again.
    ///
    /// - Parameter body: ends the session. Must return nil or throw if the session did not end.
    /// - Throws: ``Status/busy``, with nothing changed, if another process holds the change lock; the errors of `body`.
    func ending<Ended>(
        _ storage: SessionStorage, _ call: CallContext,
        _ body: (borrowing SessionTransaction) throws(TokenKeepError) -> Ended?
    ) throws(TokenKeepError) -> Ended? {
        let transaction = try SessionTransaction(storage, call)
        let wasActive = (try? isActive(storage)) == true
        deactivateBriefly(storage, call)
        do throws(TokenKeepError) {
            let ended = try body(transaction)
            if ended != nil {
                // Another process may have made the account active meanwhile.
                deactivateBriefly(storage, call)
            } else if wasActive {
                reactivate(storage)
            }
            return ended
        } catch {
            if wasActive { reactivate(storage) }
            throw error
        }
    }

    private func deactivateBriefly(_ storage: SessionStorage, _ call: CallContext) {
        try? deactivate(storage, call.until(Deadline(milliseconds: Sessions.pointerLimit)))
    }

    /// Makes the account of a session that did not end active again, even if the call was cancelled.
    private func reactivate(_ storage: SessionStorage) {
        // If the session had ended before the call failed, its account must stay inactive.
        guard (try? storage.note())?.state != .signedOut else { return }
        try? activateIfNoneIs(storage.name, Renewal.saving)
    }
}
