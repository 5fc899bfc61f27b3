import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Reads the parts of one session: item, note, change mark and stash. ``SessionTransaction`` writes them.
///
/// If the call allows prompts, loading an item may ask the user to unlock a module.
struct SessionStorage: Sendable {
    /// The name of the session's item.
    let name: ItemName
    let store: Store
    let options: SessionOptions
    let id: [UInt8]
    let files: SessionFiles
    let marks: ChangeMarks
    let stash: SessionStash

    init(_ store: Store, _ name: ItemName, _ options: SessionOptions, _ call: CallContext) throws(TokenKeepError) {
        self.store = store
        self.name = name
        self.options = options
        files = SessionFiles(store.records)
        marks = store.changeMarks
        id = try files.id(of: name, call)
        stash = SessionStash(store.records, id: id)
    }

    /// Reads the session's note; nil if there is none, or if it is damaged and must be rebuilt from the record.
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

    /// Reads the record in the stash; nil if there is no readable record.
    func stashedRecord() throws(TokenKeepError) -> SessionRecord? {
        guard let secret = try stash.read() else { return nil }
        return try? SessionRecord(secret, now: options.clock())
    }

    /// Loads the session's item; nil if there is none.
    func item(_ call: CallContext) throws(TokenKeepError) -> TokenItem? { try load(name, call) }

    /// Loads an item of the session; nil if there is none.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let limit = call.deadline.within(milliseconds: store.timeoutMilliseconds)
        do throws(TokenKeepError) {
            guard call.promptsAllowed else { return try store.withoutPrompts.load(name, until: limit) }
            return try store.load(service: name.service, account: name.account, until: limit)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// The id of the store's vault, in hexadecimal as records contain it; nil if there is no vault.
    func vaultID() throws(TokenKeepError) -> String? {
        try store.records.open().map { Hexadecimal.text($0.keys.vaultID) }
    }

    /// The session's change mark: a number that is replaced at each change of tokens or state; nil if it cannot be
    /// read.
    var mark: UInt64? { marks.value(of: id) }

    /// Whether certainly no process has changed the session since `facts` were read.
    func isUnchanged(since facts: SessionFacts) -> Bool { facts.mark.map { $0 == mark } ?? false }

    // MARK: Facts

    /// Reads the session without any repair.
    ///
    /// - Throws: the error of reading the record: ``Status/locked``, ``Status/unavailable`` and others.
    func facts(_ call: CallContext) throws(TokenKeepError) -> SessionFacts {
        var facts = try factsWithoutRecord()
        try readRecord(into: &facts, call)
        return facts
    }

    /// Reads change mark, note and stash. The mark is read first. Otherwise a token could be kept with the mark of a
    /// later change, and the change would not be noticed.
    ///
    /// A session without a mark gets a new one. An account without a note gets its mark from the sign-in that writes the
    /// note: until then no token can be kept, and a mark would make every watcher look for a note that is not there.
    func factsWithoutRecord() throws(TokenKeepError) -> SessionFacts {
        var mark = mark
        var note = try note()
        if mark == nil, note != nil {
            marks.change(id)
            mark = self.mark
            note = try self.note()
        }
        return SessionFacts(note: note ?? SessionNote(), mark: mark, stashed: try stashedRecord())
    }

    func readRecord(into facts: inout SessionFacts, _ call: CallContext) throws(TokenKeepError) {
        if facts.note.state == .signedOut, facts.note.nextEpoch.isEmpty { return }
        let stashed = facts.stashed.flatMap { $0.epoch == facts.note.epoch ? $0 : nil }
        let item: TokenItem?
        do throws(TokenKeepError) {
            item = try self.item(call)
        } catch {
            // A keyring whose collection was deleted may return any of these errors. The stash has newer tokens than
            // the item, so they are used and the error is ignored.
            guard stashed != nil, [.locked, .unavailable, .timedOut, .corrupt, .io].contains(error.status) else {
                throw error
            }
            item = nil
        }
        guard let item else {
            facts.record = stashed
            facts.isKeepable = false
            return
        }
        try fill(&facts, item, stashed)
    }

    /// Adds the item's record to `facts`. Takes the tokens from the stash if they are newer.
    private func fill(
        _ facts: inout SessionFacts, _ item: TokenItem, _ stashed: SessionRecord?
    ) throws(TokenKeepError) {
        var record = try SessionRecord(item.secret, now: options.clock())
        facts.level = item.details.accessLevel
        facts.isKeepable = item.details.accessLevel != .memoryOnly && !item.details.flags.contains(.userPresence)
        let vault = try store.records.open()
        if item.details.module == "vault" || item.details.isSealed, let keys = vault?.keys, keys.header.hasPassword {
            facts.sealingKey = keys.presence(of: .level(item.details.accessLevel))
            facts.isKeepable = facts.isKeepable && facts.sealingKey != nil
        }
        let belonging = RepairRules.belonging(
            ofEpoch: record.epoch, vault: record.vault, to: facts.note,
            in: vault.map { Hexadecimal.text($0.keys.vaultID) })
        switch belonging {
        case .live: break
        case .next, .foreign:
            facts.foreign = (record, belonging, item.details)
            return
        case .dead: return
        }
        if let stashed, stashed.generation > record.generation {
            try record.replaceTokens(by: stashed)
            facts.isKeepable = false
        }
        facts.record = record
    }
}
