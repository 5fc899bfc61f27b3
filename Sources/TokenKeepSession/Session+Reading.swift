import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// A session as it was read: its note and its record.
struct SessionView {
    var note: SessionNote
    /// The live record; nil if there is none.
    var record: SessionRecord?
    /// The slot's value before the reading; nil if it cannot be read.
    var slot: UInt64?
    /// The key that must be open for the token to be used; nil if none must.
    var sealingKey: ResidentKey?
    /// Whether a handle may keep the token: not if each use asks for the password.
    var isKeepable = true
    /// The level of the session's item; nil if the item was not read.
    var level: AccessLevel?
    /// The keys that seal the server's answer even if the vault was locked since; nil for none.
    var lease: SealingLease?
    /// A record that no note describes, to be taken over.
    var foreign: (record: SessionRecord, details: ItemDetails)?

    /// The session's state.
    var state: SessionState {
        guard let record else { return note.state == .needsLogin ? .needsLogin : .signedOut }
        if note.state == .needsLogin { return .needsLogin }
        return record.kind == .guest ? .guest : .user
    }

    /// Whether the token is over and cannot be renewed. Not noted: a clock that is set right makes it valid again.
    func isOver(at now: SessionTime) -> Bool {
        guard let record, record.kind == .user, !record.canRenew else { return false }
        return record.life.left(at: now) == 0
    }
}

extension Session {
    /// The record of a session that is not over.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in, ``Status/needsLogin`` or ``Status/expired``.
    func live(_ view: SessionView) throws(TokenKeepError) -> SessionRecord {
        if view.note.state == .needsLogin { throw Session.ended(name, view.note.reason, view.note.problem) }
        guard let record = view.record else {
            let reason = view.note.reason.word.map { " (\($0))" } ?? ""
            throw TokenKeepError(
                .notFound, "nobody is signed in as \(name)\(reason)",
                hint: (try? Sessions(store).hint(of: name.service, insteadOf: name.account)) ?? Sessions.signIn)
        }
        try requireBearer(record.tokenType)
        return record
    }

    /// Refuses a token that another program stored, and that an Authorization header with `Bearer` cannot carry.
    func requireBearer(_ type: String) throws(TokenKeepError) {
        guard !TokenResponse.isBearer(type) else { return }
        throw TokenKeepError(
            .unsupported, "the token_type of the session of \(name) is not Bearer",
            hint: "sign in again, and ask the server for Bearer tokens")
    }

    /// Reads the session. A record that another program wrote is taken over, and what earlier calls could not finish is
    /// finished.
    ///
    /// - Throws: the reason why the record cannot be read: ``Status/locked``, ``Status/unavailable`` and others.
    ///
    /// - Parameter finishes: false for a caller that holds the change lock: nothing is written.
    func read(_ call: CallContext, finishes: Bool = true) throws(TokenKeepError) -> SessionView {
        guard finishes else { return try readFiles(call) }
        if try stash.read() != nil {
            do throws(TokenKeepError) {
                try withoutPrompts.settleStash(call)
            } catch {
                options.explain?("the last answer of the server stays in the stash: \(error.message)")
            }
        }
        var view = try readFiles(call)
        if let taken = try withoutPrompts.takeOver(view, call) { view = taken }
        if view.note.state == .signedOut, view.note.endedEpoch != nil { try? finishEnd() }
        if !orphanedRefreshItems(view).isEmpty { try? dropOrphans(call) }
        return view
    }

    func readFiles(_ call: CallContext) throws(TokenKeepError) -> SessionView {
        var slot = slots.value(of: id)
        if slot == nil {
            slots.change(id)
            slot = slots.value(of: id)
        }
        let note = try note()
        var view = SessionView(note: note ?? SessionNote(), record: nil, slot: slot)
        if note?.state == .signedOut, note?.nextEpoch == "" { return view }
        let stashed = try stashedRecord().flatMap { $0.epoch == view.note.epoch ? $0 : nil }
        let item: TokenItem?
        do throws(TokenKeepError) {
            item = try self.item(call)
        } catch {
            // A keyring whose collection was deleted may answer with anything.
            guard let stashed, [.locked, .unavailable, .timedOut, .corrupt, .io].contains(error.status) else {
                throw error
            }
            view.record = stashed
            view.isKeepable = false
            return view
        }
        if let item {
            try fill(&view, item, stashed)
        } else {
            view.record = stashed
            view.isKeepable = false
        }
        return view
    }

    /// Adds the record to a view, with the tokens of the stash if these are later.
    private func fill(
        _ view: inout SessionView, _ item: TokenItem, _ stashed: SessionRecord?
    ) throws(TokenKeepError) {
        var record = try SessionRecord(item.secret, now: options.clock())
        view.level = item.details.accessLevel
        view.isKeepable = item.details.accessLevel != .memoryOnly && !item.details.flags.contains(.userPresence)
        if item.details.module == "vault" || item.details.isSealed, let keys = try store.records.open()?.keys,
            keys.header.hasPassword
        {
            view.sealingKey = keys.residentKey(for: .level(item.details.accessLevel))
            view.isKeepable = view.isKeepable && view.sealingKey != nil
        }
        switch RepairRules.belonging(
            ofEpoch: record.epoch, vault: record.vault, to: view.note, in: try vaultID())
        {
        case .live: break
        case .next, .foreign:
            view.foreign = (record, item.details)
            return
        case .dead: return
        }
        if let stashed, stashed.generation > record.generation {
            try record.take(stashed)
            view.isKeepable = false
        }
        view.record = record
    }

    /// The record in the stash; nil if there is none that can be read.
    func stashedRecord() throws(TokenKeepError) -> SessionRecord? {
        guard let secret = try stash.read() else { return nil }
        return try? SessionRecord(secret, now: options.clock())
    }

    /// The session's note; nil if there is none or if it is damaged: it is then rebuilt from the record.
    func note() throws(TokenKeepError) -> SessionNote? {
        do throws(TokenKeepError) {
            guard let file = try files.read(.note, of: name) else { return nil }
            return try? SessionNote(file.state)
        } catch {
            guard error.status == .corrupt else { throw error }
            options.explain?("the session's note is damaged, and rebuilt from the record")
            return nil
        }
    }

    /// The session's item; nil if there is none.
    func item(_ call: CallContext) throws(TokenKeepError) -> TokenItem? { try load(name, call) }

    /// An item of the session; nil if there is none.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let limit = call.deadline.within(milliseconds: store.timeoutMilliseconds)
        do throws(TokenKeepError) {
            guard mayPrompt else { return try store.withoutPrompts.load(name, until: limit) }
            return try store.load(service: name.service, account: name.account, until: limit)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// The id of the store's vault, as it stands in records; nil if there is no vault.
    private func vaultID() throws(TokenKeepError) -> String? { try store.records.open().map { Session.text(of: $0) } }

    /// The id of a vault, as it stands in records.
    static func text(of vault: OpenVault) -> String { Hexadecimal.text(vault.keys.vaultID) }

    /// Writes the note of a record that has none, that another program wrote or another vault began, or whose sign-in was
    /// cut short. The record gets an epoch if it has none.
    ///
    /// - Returns: the session, or nil if the record is dead.
    private func takeOver(_ view: SessionView, _ call: CallContext) throws(TokenKeepError) -> SessionView? {
        guard view.foreign != nil else { return nil }
        let lock = try changeLock(call)
        let present = try readFiles(call)
        if let (record, details) = present.foreign {
            let vault = try vaultID()
            let belonging = RepairRules.belonging(
                ofEpoch: record.epoch, vault: record.vault, to: present.note, in: vault)
            switch RepairRules.takeOver(belonging, present.note) {
            case .note: try noteTakenOver(record, details, in: vault, call)
            case .begin:
                options.explain?("took over a record of another program")
                try write(record, epoch: SessionEpoch.make(), level: nil, call)
            case .leave: break
            }
        }
        let taken = try readFiles(call)
        _ = consume lock
        return taken
    }

    private func noteTakenOver(
        _ record: SessionRecord, _ details: ItemDetails, in vault: String?, _ call: CallContext
    ) throws(TokenKeepError) {
        let now = options.clock()
        try changeNote(call) { note in
            let belonging = RepairRules.belonging(ofEpoch: record.epoch, vault: record.vault, to: note, in: vault)
            guard let epoch = record.epoch, belonging == .next else { return false }
            note = self.note(of: record, epoch: epoch, details, after: note, now: now)
            return true
        }
        slots.change(id)
    }

    /// Saves the answer that waits in the stash. The answer for a session that ended is queued for revocation.
    ///
    /// - Throws: the reason why it still waits.
    private func settleStash(_ call: CallContext) throws(TokenKeepError) {
        let lock = try changeLock(CallContext(deadline: call.deadline.within(milliseconds: 1000)))
        // A damaged note is rebuilt first: without it, nobody knows which session the stash belongs to.
        guard let note = try note(), let stashed = try stashedRecord() else { return }
        switch RepairRules.stashed(epoch: stashed.epoch, note) {
        case .save: try saveStashed(stashed, note, call)
        case .queue:
            let live = try note.state == .signedOut ? nil : item(call)
            let record = live.flatMap { try? SessionRecord($0.secret, now: options.clock()) }
            try queue(stashed, live?.details.accessLevel, note, unlessOf: record)
        case .leave: return
        }
        try stash.drop()
        _ = consume lock
    }

    private func saveStashed(
        _ stashed: SessionRecord, _ note: SessionNote, _ call: CallContext
    ) throws(TokenKeepError) {
        let now = options.clock()
        // Without a record, its place is not among this store's modules.
        guard let item = try item(call) else { throw TokenKeepError(.notFound, "the record is not in its place") }
        var record = try SessionRecord(item.secret, now: now)
        // The record of a sign-in that was cut short, or of another program, is another session.
        guard record.epoch == note.epoch else {
            return try queue(stashed, item.details.accessLevel, note, unlessOf: record)
        }
        if stashed.generation > record.generation {
            try record.take(stashed)
            try saveShortened(record, level: nil, call)
            slots.change(id)
            options.explain?("the tokens of the stash are saved")
        }
        try noteThatStashIsSaved(call)
    }

    /// Notes that the record has the tokens of the stash.
    func noteThatStashIsSaved(_ call: CallContext) throws(TokenKeepError) {
        try changeNote(call) { note in
            guard note.isStashed else { return false }
            note.isStashed = false
            note.refreshing = nil
            return true
        }
        slots.change(id)
    }
}

extension Session {
    /// The note of a live record, with the present note's knowledge of the account.
    func note(
        of record: SessionRecord, epoch: String, _ details: ItemDetails? = nil, after present: SessionNote,
        now: SessionTime
    ) -> SessionNote {
        var note = SessionNote(record, epoch: epoch, details, now: now)
        note.logoutMark = present.logoutMark
        note.refreshItems = present.refreshItems | refreshItemBit(record.refreshItem)
        if note.refreshLevel == 0 { note.refreshLevel = present.refreshLevel }
        return note
    }
}

extension SessionNote {
    /// The note of a live record.
    init(_ record: SessionRecord, epoch: String, _ details: ItemDetails?, now: SessionTime) {
        self.init()
        kind = record.kind
        state = record.kind == .guest ? .guest : .user
        self.epoch = epoch
        provider = record.provider ?? ""
        level = details?.accessLevel.rawValue ?? 0
        refreshLevel = record.refreshLevel
        update(record, now: now)
    }

    /// Notes the end of the session. The epoch is new, so that its record is dead.
    mutating func signOut(_ reason: SessionReason) {
        state = .signedOut
        self.reason = reason
        // The next sign-in goes on with the guest's work.
        if reason != .guestExpired { logoutMark &+= 1 }
        epoch = SessionEpoch.make()
        nextEpoch = ""
    }

    /// Takes over the times of a record.
    mutating func update(_ record: SessionRecord, now: SessionTime) {
        generation = record.generation
        canRenew = record.canRenew
        scope = record.scope ?? ""
        expiresAt = record.life.end(at: now) ?? 0
        refreshAt = expiresAt == 0 ? 0 : expiresAt - record.life.margin
    }
}

extension SessionInfo {
    init(name: ItemName, _ note: SessionNote, state: SessionState, isActive: Bool) {
        service = name.service
        account = name.account
        self.state = state
        reason = note.reason
        kind = note.kind
        self.isActive = isActive && state != .signedOut
        canRenew = note.canRenew
        provider = note.provider.isEmpty ? nil : note.provider
        scope = note.scope.isEmpty ? nil : note.scope
        level = AccessLevel(rawValue: note.level)
        refreshLevel = AccessLevel(rawValue: note.refreshLevel)
        expiresAt = note.expiresAt == 0 ? nil : UnixTime(note.expiresAt)
        refreshAt = note.refreshAt == 0 ? nil : UnixTime(note.refreshAt)
        validatedAt = note.validatedAt == 0 ? nil : UnixTime(note.validatedAt)
        problem = note.problem.isEmpty ? nil : note.problem
        coolDownUntil = note.coolDownUntil <= UnixTime.now.rawValue ? nil : UnixTime(note.coolDownUntil)
        generation = note.generation
        rotation = note.rotation
        isStashed = note.isStashed
        refreshingProcess = note.isStashed ? nil : note.refreshing?.process
    }
}
