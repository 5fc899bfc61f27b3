import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Holds the change lock of a session, and is the only writer of the session's record, note, change mark and stash.
/// While this value exists, no other process changes the session.
///
/// Never prompts, because other processes would wait for the user's answer. Destroying the value releases the lock.
struct SessionTransaction: ~Copyable {
    let storage: SessionStorage
    let call: CallContext
    private let lock: SessionLock?

    /// Acquires the change lock of a session.
    ///
    /// - Parameter milliseconds: the maximum wait for the lock, in addition to the call's deadline.
    /// - Throws: ``Status/busy`` if another process keeps the lock.
    init(
        _ storage: SessionStorage, _ call: CallContext, lockWithin milliseconds: UInt32 = .max
    ) throws(TokenKeepError) {
        let call = call.withoutPrompts
        let limit = call.until(Deadline(milliseconds: milliseconds))
        guard let lock = try SessionLock.acquire(.change, of: storage.name, storage.store.records, limit) else {
            throw TokenKeepError(
                .busy, "another process is changing the session of \(storage.name)", hint: "try again")
        }
        self.storage = storage
        self.call = call
        self.lock = consume lock
    }

    /// The maximum wait, in milliseconds, for the change lock before tokens are written to the stash.
    private static let stashingLimit: UInt32 = 1000

    /// Acquires the change lock to write new tokens to the stash. If the lock cannot be acquired (for example, because
    /// the disk is full), continues without it, because the tokens must not be lost.
    init(stashingIn storage: SessionStorage, _ call: CallContext) {
        self.storage = storage
        self.call = call.withoutPrompts
        let limit = call.withoutPrompts.until(Deadline(milliseconds: SessionTransaction.stashingLimit))
        do throws(TokenKeepError) {
            lock = try SessionLock.acquire(.change, of: storage.name, storage.store.records, limit)
        } catch {
            lock = nil
        }
    }

    /// Reads the session without any repair.
    func facts() throws(TokenKeepError) -> SessionFacts { try storage.facts(call) }

    /// Writes a change in an order that survives a crash after any step: the refresh token's own item, the record, the
    /// change mark, the note, the change mark again for watchers of the note, the stash.
    ///
    /// - Parameter known: the note of the session to be changed; nil to change the account's present session. It
    ///   replaces a stored note that is missing or damaged.
    /// - Returns: the new note; nil if the note is unchanged, for example because the session ended.
    @discardableResult
    func apply(_ change: SessionChange, to known: SessionNote? = nil) throws(TokenKeepError) -> SessionNote? {
        if let (record, level) = change.saved {
            if change.mayBeShortened, try record.isTooLong() {
                storage.options.explain?("left out members of the server's answer: the record is too long")
                try record.removeExtras()
            }
            try saveRefreshToken(of: record, level: nil, previous: nil)
            try saveItem(record, level: level)
            if case .unread = change { return nil }
            storage.marks.change(storage.id)
        }
        let changed: SessionNote?
        do throws(TokenKeepError) {
            changed = try changeNote(change, known)
        } catch {
            // The tokens are saved, and the record's generation already shows that the refresh was answered. So a
            // failure to write the note is ignored.
            guard case .renewed = change else { throw error }
            changed = nil
        }
        if changed != nil, change.isSeen { storage.marks.change(storage.id) }
        if change.dropsStash { try storage.stash.drop() }
        return changed
    }

    private func changeNote(_ change: SessionChange, _ known: SessionNote?) throws(TokenKeepError) -> SessionNote? {
        let now = storage.options.clock()
        var changed: SessionNote?
        try storage.changeNote(call, else: known ?? SessionNote(), isKeptAtOnce: change.isKeptAtOnce) { note in
            let isMeant = known.map { $0.epoch == note.epoch } ?? true
            guard isMeant, change.apply(to: &note, at: now) else { return false }
            changed = note
            return true
        }
        return changed
    }

    /// Stores new tokens in the stash until the session's item can be written.
    func stash(_ record: SessionRecord, of known: SessionNote) throws(TokenKeepError) {
        let isShared = try storage.stash.write(record.serializedForStash())
        storage.marks.change(storage.id)
        storage.options.explain?(
            isShared
                ? "stashed generation \(record.generation) in the kernel until its place opens"
                : "generation \(record.generation) is in the memory of this process alone")
        let present = record.refreshToken.flatMap { try? storage.files.fingerprint(of: $0, call) }
        _ = try? apply(.stashed(record, isShared: isShared, present: present), to: known)
    }

    // MARK: Items

    /// Saves the record as the session's item.
    ///
    /// - Parameter level: the new level of the item; nil keeps the present level.
    func saveItem(_ record: SessionRecord, level: AccessLevel?) throws(TokenKeepError) {
        let outcome = try save(
            record.serialized(), as: storage.name, level: level, label: "session of \(storage.name.defaultLabel)")
        let waiting = outcome.pendingModules.map { "; it is pending for \($0)" }.joined()
        storage.options.explain?("saved generation \(record.generation) in \(outcome.module)\(waiting)")
    }

    /// Saves the refresh token of a record in its separate item. Called before the record is saved.
    ///
    /// - Parameters:
    ///   - level: the level of the item; nil for the level that the record names, so that a lost item is not saved
    ///     again at a weaker level.
    ///   - previous: the refresh token of the previous sign-in, which the item keeps until the note names this sign-in.
    func saveRefreshToken(
        of record: SessionRecord, level: AccessLevel?, previous: RefreshItem.Entry?
    ) throws(TokenKeepError) {
        guard let account = record.refreshItem, let entry = try record.ownRefreshEntry() else { return }
        let outcome = try save(
            RefreshItem(entry, previous: previous).serialized(), as: storage.refreshName(account),
            level: level ?? AccessLevel(rawValue: record.refreshLevel),
            label: "refresh token of \(storage.name.defaultLabel)")
        storage.options.explain?("saved the refresh token as an item of its own in \(outcome.module)")
    }

    /// Saves an item of the session. If its module is locked, the vault keeps the item under the password.
    private func save(
        _ secret: SecretBytes, as name: ItemName, level: AccessLevel?, label: String
    ) throws(TokenKeepError) -> SaveOutcome {
        var request = try SaveRequest(name: name, secret: secret, accessLevel: level, label: label)
        request.keepsWhenLocked = true
        let store = storage.store
        return try store.withoutPrompts.save(
            request, until: call.deadline.within(milliseconds: store.timeoutMilliseconds), call.lease)
    }

    /// Clears the session's item.
    func clearItem() throws(TokenKeepError) { try storage.store.withoutPrompts.clear(storage.name) }

    /// Clears the refresh token items with these accounts, and removes their bits from the note.
    func dropRefreshItems(_ accounts: [String]) throws(TokenKeepError) {
        guard !accounts.isEmpty else { return }
        for account in accounts { try storage.store.withoutPrompts.clear(storage.refreshName(account)) }
        try apply(.dropped(accounts.reduce(UInt8(0)) { $0 | storage.refreshItemBit($1) }))
    }

    /// Clears the record of a guest whose token has expired.
    ///
    /// - Returns: false if the guest has signed in or signed out meanwhile.
    func clearGuest(_ note: SessionNote) throws(TokenKeepError) -> Bool {
        guard try apply(.guestOver, to: note) != nil else { return false }
        try clearItem()
        try dropRefreshItems(storage.refreshAccounts(note.refreshItems))
        return true
    }

    // MARK: Revocation

    /// Adds a record's refresh token, otherwise its access token, to the outbox. Does nothing after a logout that sends
    /// no token to the server, or if the present session has the same token.
    ///
    /// - Parameter level: the level of the record's item; nil to use the level in the note, which can be forged.
    func queue(
        _ record: SessionRecord, _ level: AccessLevel?, _ note: SessionNote, unlessOf present: SessionRecord? = nil
    ) throws(TokenKeepError) {
        if note.state == .signedOut, note.endsLocally { return }
        if let present {
            let live = (try? storage.joined(present, Renewal.saving)) ?? present
            guard live.refreshToken ?? live.accessToken != record.refreshToken ?? record.accessToken else { return }
        }
        let isApart = record.refreshToken != nil && record.refreshItem != nil
        try Outbox(storage.store, storage.options).add(
            record.refreshToken ?? record.accessToken, isRefresh: record.refreshToken != nil, of: storage.name,
            record.provider,
            level: isApart ? AccessLevel(rawValue: record.refreshLevel) : level ?? AccessLevel(rawValue: note.level))
    }
}

extension SessionStorage {
    /// Changes the note under the item's lock. `body` returns false to leave the note unchanged.
    ///
    /// - Parameters:
    ///   - known: the note that `body` changes if the stored note is missing or damaged.
    ///   - isKeptAtOnce: whether the change must survive a loss of power at once. If false, a loss of power may bring
    ///     back the old note.
    func changeNote(
        _ call: CallContext, else known: SessionNote = SessionNote(), isKeptAtOnce: Bool = true,
        _ body: (inout SessionNote) -> Bool
    ) throws(TokenKeepError) {
        try files.change(.note, of: name, call, isKeptAtOnce: isKeptAtOnce) { file in
            let present = file.flatMap { try? SessionNote($0.state) }
            var note = present ?? known
            if present == nil { note.logoutMark = .random(in: 1...UInt32.max) }
            return body(&note) ? note.serialized() : nil
        }
    }
}
