import TokenKeepCore

/// The order in which a session ends: its change lock, the pointer to the active account, the note.
extension Sessions {
    /// The time for the pointer's lock, in milliseconds: a process that was stopped with the lock holds up no logout.
    private static let pointerLimit: UInt32 = 1000

    /// Ends a session by `body`, under the session's change lock.
    ///
    /// The account is no longer active before its session ends: a process that is killed in between leaves no pointer to a
    /// session that is gone. Whatever did not end is active again.
    ///
    /// - Parameter body: returns nil, or throws, if the session did not end.
    /// - Throws: ``Status/busy`` if another process holds the change lock: nothing was changed.
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
                // Another process may have made it active meanwhile.
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

    /// Makes the account of a session that goes on active again, also after the call's cancellation.
    private func reactivate(_ storage: SessionStorage) {
        // The call may have failed after the session's end.
        guard (try? storage.note())?.state != .signedOut else { return }
        try? activateIfNoneIs(storage.name, Renewal.saving)
    }
}
