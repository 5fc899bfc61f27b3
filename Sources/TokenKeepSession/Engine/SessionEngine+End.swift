public import TokenKeepCore

extension SessionEngine {
    /// Registers a hook that runs when this handle ends the session. Hooks run in ascending `order`; hooks with the
    /// same `order` run by name.
    ///
    /// Suggested values of `order`: 100 for caches, 200 for cookies, 300 for preferences of the account. A hook should
    /// keep the device id and the settings.
    public func onEnd(_ name: String, order: UInt32, _ body: @escaping EndHookBody) {
        hooks.withLock { hooks in
            hooks.append(EndHook(name: name, order: order, body: body))
            hooks.sort { ($0.order, $0.name) < ($1.order, $1.name) }
        }
    }

    /// Ends the session. First writes the state, so that no process uses the session's tokens any more; then runs the
    /// hooks; then clears the record. Works offline and while the vault is locked. Runs no hooks if the session had
    /// already ended.
    ///
    /// Asks the server to revoke the token if there is a transport. If the server does not answer, the token stays in
    /// the outbox for a later attempt.
    ///
    /// - Parameter isLocalOnly: if true, no token is sent to the server, neither now nor later.
    /// - Throws: the error of writing the state, with the session unchanged. Does not throw if the record cannot be
    ///   read or cleared, because the session is over already.
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

    /// Ends the session because another machine ordered it, if the order names this session. Does not ask the server.
    ///
    /// - Parameter isMeant: returns whether the order names the session with that identity. Called under the session's
    ///   lock.
    /// - Returns: the report; nil if the account has a different session, or no session.
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
    /// Writes the end of the session into its note. Returns the note as it was before; nil, without a change, if
    /// `isMeant` returns false.
    fileprivate func signOut(
        isLocalOnly: Bool, _ reason: SessionReason, if isMeant: (SessionNote) -> Bool
    ) throws(TokenKeepError) -> SessionNote? {
        let before = try storage.note() ?? SessionNote()
        guard isMeant(before) else { return nil }
        try apply(.signedOut(isLocal: isLocalOnly, reason))
        return before
    }
}
