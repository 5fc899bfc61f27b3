public import TokenKeepCore

extension SessionEngine {
    /// Registers a hook that runs when this handle ends the session. Hooks run by ascending order, then by name.
    ///
    /// Suggested orders: 100 caches, 200 cookies, 300 preferences of the account. Device id and settings are to be
    /// kept.
    public func onEnd(_ name: String, order: UInt32, _ body: @escaping EndHookBody) {
        hooks.withLock { hooks in
            hooks.append(EndHook(name: name, order: order, body: body))
            hooks.sort { ($0.order, $0.name) < ($1.order, $1.name) }
        }
    }

    /// Ends the session: first the state, so that no process uses its tokens any more, then the hooks, then the record.
    /// Works offline and while the vault is locked. Does nothing more if the session has already ended.
    ///
    /// The server revokes the token now if there is a transport and the server answers; otherwise the token waits in
    /// the outbox.
    ///
    /// - Parameter isLocalOnly: whether no token is sent to the server, neither now nor later.
    /// - Throws: the error of writing the state, with the session unchanged. A record that cannot be read or cleared is
    ///   no error, because the session is over already.
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

    /// Ends the session as ``end(isLocalOnly:)`` does, but asks no server. ``Outbox/revoke(_:until:)`` then sends the
    /// tokens.
    package func endHere(isLocalOnly: Bool) throws(TokenKeepError) -> EndReport {
        try newCall().end(isLocalOnly: isLocalOnly, .logout) { _ in true } ?? EndReport()
    }

    /// Ends the session by an order from another machine, without asking the server, if the order names this session.
    ///
    /// - Parameter isMeant: returns whether the order names the session with that identity. Called under the session's
    ///   lock.
    /// - Returns: nil if the account has another session, or none.
    /// - Throws: the errors of ``end(isLocalOnly:)``.
    package func endRemotely(_ isMeant: (SessionIdentity) -> Bool) throws(TokenKeepError) -> EndReport? {
        try newCall().end(isLocalOnly: false, .remote) { note in
            note.state != .signedOut && isMeant(SessionIdentity(note))
        }
    }
}

extension SessionCall {
    /// Ends the session here if `isMeant` returns true for its note; otherwise returns nil. Asks no server.
    fileprivate func end(
        isLocalOnly: Bool, _ reason: SessionReason, if isMeant: (SessionNote) -> Bool
    ) throws(TokenKeepError) -> EndReport? {
        var report = EndReport()
        let ended = try Sessions(storage.store).ending(storage, context) { (transaction) throws(TokenKeepError) in
            try transaction.signOut(isLocalOnly: isLocalOnly, reason, if: isMeant)
        }
        guard let before = ended else { return nil }
        if before.state != .signedOut { runHooks(reason, &report) }
        // The hooks may have taken longer than this call allows, so the record is cleared by a call with its own
        // deadline.
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

    /// Clears the record. If this fails, the next call of the session clears it.
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
    /// Writes the end of the session. Returns the note from before; nil if `isMeant` returns false.
    fileprivate func signOut(
        isLocalOnly: Bool, _ reason: SessionReason, if isMeant: (SessionNote) -> Bool
    ) throws(TokenKeepError) -> SessionNote? {
        let before = try storage.note() ?? SessionNote()
        guard isMeant(before) else { return nil }
        try apply(.signedOut(isLocal: isLocalOnly, reason))
        return before
    }
}
