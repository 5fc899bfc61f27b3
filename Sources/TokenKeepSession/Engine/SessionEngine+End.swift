public import TokenKeepCore

extension SessionEngine {
    /// Runs `body` when this handle ends the session: hooks of a lower order first, hooks of the same order by name.
    ///
    /// The orders of the seeds' plan: 100 caches, 200 cookies, 300 preferences of the account. Device id and settings
    /// stay.
    public func onEnd(_ name: String, order: UInt32, _ body: @escaping EndHookBody) {
        hooks.withLock { hooks in
            hooks.append(EndHook(name: name, order: order, body: body))
            hooks.sort { ($0.order, $0.name) < ($1.order, $1.name) }
        }
    }

    /// Ends the session: first its state, so that no process uses its tokens any more, then the hooks, then the
    /// record. Works offline, and while everything is locked. Ending an ended session is no error.
    ///
    /// The token is revoked at the server now if a transport is given and the server answers, else it waits in the
    /// outbox.
    ///
    /// - Parameter isLocalOnly: whether nothing is sent to the server, now or later.
    /// - Throws: the reason why the state cannot be written; the session is as it was then. A record that cannot be read
    ///   or cleared is no error: the session is over all the same.
    public func end(isLocalOnly: Bool = false) throws(TokenKeepError) -> EndReport {
        var report = try endHere(isLocalOnly: isLocalOnly)
        if !isLocalOnly, options.transport != nil {
            let flushed = try? outbox.flush(of: name)
            if report.revocation == .queued, let flushed, flushed.sent > 0, flushed.left == 0, flushed.problem == nil {
                report.revocation = .done
            }
        }
        return report
    }

    /// ``end(isLocalOnly:)`` without asking the server. ``Outbox/revoke(_:until:)`` sends the tokens of many sessions.
    package func endHere(isLocalOnly: Bool) throws(TokenKeepError) -> EndReport {
        try newCall().end(isLocalOnly: isLocalOnly, .logout) { _ in true } ?? EndReport()
    }

    /// Ends the session by an order from another machine, without asking the server, if it is the session that is meant.
    ///
    /// - Parameter isMeant: compares the identity of the present session, under its lock.
    /// - Returns: nil if the account has another session, or none.
    /// - Throws: as ``end(isLocalOnly:)``.
    package func endRemotely(_ isMeant: (SessionIdentity) -> Bool) throws(TokenKeepError) -> EndReport? {
        try newCall().end(isLocalOnly: false, .remote) { note in
            note.state != .signedOut && isMeant(SessionIdentity(note))
        }
    }
}

extension SessionCall {
    /// Ends the session here, if it is the session that is meant. Asks no server.
    fileprivate func end(
        isLocalOnly: Bool, _ reason: SessionReason, if isMeant: (SessionNote) -> Bool
    ) throws(TokenKeepError) -> EndReport? {
        var report = EndReport()
        let ended = try Sessions(storage.store).ending(storage, context) { (transaction) throws(TokenKeepError) in
            try transaction.signOut(isLocalOnly: isLocalOnly, reason, if: isMeant)
        }
        guard let before = ended else { return nil }
        if before.state != .signedOut { runHooks(reason, &report) }
        // The hooks have limits of their own.
        ((try? engine.newCall()) ?? self).clearRecord(&report)
        return report
    }

    private func runHooks(_ reason: SessionReason, _ report: inout EndReport) {
        for hook in engine.hooks.withLock({ $0 }) {
            do throws(TokenKeepError) {
                try hook.body(name.service, name.account, reason)
                report.hooks.append((hook.name, .done))
            } catch {
                report.hooks.append((hook.name, .failed))
                options.explain?("the hook \(hook.name) failed: \(error.message)")
            }
        }
    }

    /// Clears the record now, or leaves it to the next call of the session.
    private func clearRecord(_ report: inout EndReport) {
        do throws(TokenKeepError) {
            report.revocation = try prompting { () throws(TokenKeepError) in
                try SessionTransaction(storage, context).clearEnded(isLater: false)
            }
        } catch {
            options.explain?("the record cannot be cleared yet: \(error.message)")
            report.revocation = .waitingForUnlock
            report.problem = error
        }
    }
}

extension SessionTransaction {
    /// Ends the session's state. Returns the note before; nil if another session is meant.
    fileprivate func signOut(
        isLocalOnly: Bool, _ reason: SessionReason, if isMeant: (SessionNote) -> Bool
    ) throws(TokenKeepError) -> SessionNote? {
        let before = try storage.note() ?? SessionNote()
        guard isMeant(before) else { return nil }
        try apply(.signedOut(isLocal: isLocalOnly, reason))
        return before
    }
}
