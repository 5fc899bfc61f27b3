public import TokenKeepCore
import TokenKeepRecords

extension Session {
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
            let flushed = try? Outbox(store, options).flush(of: name)
            if report.revocation == .queued, let flushed, flushed.sent > 0, flushed.left == 0, flushed.problem == nil {
                report.revocation = .done
            }
        }
        return report
    }

    /// ``end(isLocalOnly:)`` without asking the server. ``Outbox/revoke(_:until:)`` sends the tokens of many sessions.
    package func endHere(isLocalOnly: Bool) throws(TokenKeepError) -> EndReport {
        let call = try begin()
        var report = EndReport()
        var before = SessionNote()
        let lock = try changeLock(call)
        try changeNote(call) { note in
            before = note
            note.signOut(.logout)
            note.endedEpoch = before.endedEpoch ?? before.epoch
            note.endsLocally = isLocalOnly
            note.refreshing = nil
            note.isStashed = false
            note.canRenew = false
            note.expiresAt = 0
            note.refreshAt = 0
            return true
        }
        slots.change(id)
        _ = consume lock
        try? Sessions(store).deactivate(name, call)
        if before.state != .signedOut { runHooks(.logout, &report) }
        // The hooks have limits of their own.
        report.revocation = clearRecord(orLaterIn: (try? begin()) ?? call)
        return report
    }

    /// Clears the record now, or leaves it to the next call of the session.
    private func clearRecord(orLaterIn call: CallContext) -> EndReport.Revocation {
        do throws(TokenKeepError) {
            return try prompting(call) { session throws(TokenKeepError) in try session.clearRecord(call) }
        } catch {
            options.explain?("the record cannot be cleared yet: \(error.message)")
            return .waitingForUnlock
        }
    }

    /// The tokens of earlier logouts, with the options of this session.
    package var outbox: Outbox { Outbox(store, options) }

    private func runHooks(_ reason: SessionReason, _ report: inout EndReport) {
        for hook in hooks.withLock({ $0 }) {
            do throws(TokenKeepError) {
                try hook.body(name.service, name.account, reason)
                report.hooks.append((hook.name, .done))
            } catch {
                report.hooks.append((hook.name, .failed))
                options.explain?("the hook \(hook.name) failed: \(error.message)")
            }
        }
    }

    /// Queues the tokens of an ended session for revocation, and clears its record, unless a new session has begun.
    ///
    /// - Parameter isLater: whether the logout itself is over: a record that another program wrote since is left alone.
    private func clearRecord(
        isLater: Bool = false, _ call: CallContext
    ) throws(TokenKeepError) -> EndReport.Revocation {
        let lock = try changeLock(call)
        // A sign-in meanwhile has a note of its own.
        guard let note = try note(), note.state == .signedOut, note.endedEpoch != nil else { return .none }
        let isUnread = RepairRules.clearsUnread(note, isLater: isLater)
        let (record, level) = try isUnread ? (nil, nil) : endedRecord(call)
        let found = record.map { RepairRules.EndedRecord.record(epoch: $0.epoch) } ?? .none
        guard let ending = RepairRules.ended(found, note, isLater: isLater) else { return .none }
        let isQueued =
            try ending.queues ? queueTokens(of: ending.clears ? record : nil, level, note, call) : false
        if ending.clears { try store.withoutPrompts.clear(name) }
        let items = Set(refreshAccounts(note) + (ending.clears ? [record?.refreshItem].compactMap { $0 } : []))
        if !items.isEmpty { try dropRefreshItems(items.sorted(), call) }
        try stash.drop()
        try changeNote(call) { note in
            note.endedEpoch = nil
            return true
        }
        _ = consume lock
        return isQueued ? .queued : .none
    }

    /// The record of an ended session, and the level of its item; nil if there is none.
    private func endedRecord(
        _ call: CallContext
    ) throws(TokenKeepError) -> (record: SessionRecord?, level: AccessLevel?) {
        guard let item = try item(call) else { return (nil, nil) }
        do throws(TokenKeepError) {
            return (try SessionRecord(item.secret, now: options.clock()), item.details.accessLevel)
        } catch {
            // A later TokenKeep's record stays as it is.
            guard error.status != .unsupported else { throw error }
            return (nil, nil)
        }
    }

    /// Queues the newest token of an ended session: the stash's, else the record's. Returns whether there is one.
    private func queueTokens(
        of record: SessionRecord?, _ level: AccessLevel?, _ note: SessionNote, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let stashed = try stashedRecord()
        let record = try record.map { record throws(TokenKeepError) in
            // The stash has the newest refresh token.
            let isAnswered = stashed?.refreshToken != nil && stashed?.epoch == record.epoch
            return try isAnswered ? record : joinedOrCleared(record, call)
        }
        guard let newest = stashed ?? record else { return try queueRefreshToken(note, call) }
        // The stash of an earlier sign-in is not the newest of this one.
        if let stashed, let record, stashed.epoch != record.epoch { try queue(record, level, note) }
        try queue(newest, level, note)
        return true
    }

    /// The record of an ended session with its refresh token. If the refresh token is locked, the record is cleared now: the
    /// token alone waits.
    private func joinedOrCleared(
        _ record: SessionRecord, _ call: CallContext
    ) throws(TokenKeepError) -> SessionRecord {
        do throws(TokenKeepError) {
            return try joined(record, call)
        } catch {
            if refreshItemBit(record.refreshItem) != 0 { try store.withoutPrompts.clear(name) }
            throw error
        }
    }

    /// Queues the refresh token of an ended session whose record is cleared. Returns whether there is one.
    private func queueRefreshToken(_ note: SessionNote, _ call: CallContext) throws(TokenKeepError) -> Bool {
        guard note.refreshLevel != 0, let ended = note.endedEpoch,
            let entry = try refreshEntry(of: ended, note, call)
        else { return false }
        try Outbox(store, options).add(
            entry.token, isRefresh: true, of: name, entry.provider, level: entry.level)
        return true
    }

    /// Puts a record's refresh token, else its access token, into the outbox: not after a logout that sends nothing, and
    /// not if the present session has the same token.
    ///
    /// - Parameter level: the level of the record's item; nil if there is none. The note's level can be forged.
    func queue(
        _ record: SessionRecord, _ level: AccessLevel?, _ note: SessionNote, unlessOf present: SessionRecord? = nil
    ) throws(TokenKeepError) {
        if note.state == .signedOut, note.endsLocally { return }
        if let present {
            let live = (try? joined(present, Renewal.saving)) ?? present
            guard live.refreshToken ?? live.accessToken != record.refreshToken ?? record.accessToken else { return }
        }
        let isApart = record.refreshToken != nil && record.refreshItem != nil
        try Outbox(store, options).add(
            record.refreshToken ?? record.accessToken, isRefresh: record.refreshToken != nil, of: name,
            record.provider,
            level: isApart ? AccessLevel(rawValue: record.refreshLevel) : level ?? AccessLevel(rawValue: note.level))
    }

    /// Queues and clears the record of a session that ended while it was locked; does nothing if it is still locked.
    func finishEnd() throws(TokenKeepError) {
        guard let note = try note(), note.state == .signedOut, note.endedEpoch != nil else { return }
        _ = try withoutPrompts.clearRecord(isLater: true, begin())
    }
}
