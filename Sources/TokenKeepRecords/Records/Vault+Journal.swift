import Glibc
import SystemPackage
public import TokenKeepCore

extension Vault: Journal {
    /// The item's record, or nil where there is none. Takes no lock.
    public func record(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        try read(name) { file, state throws(FormatFault) in try journalRecord(file, state, call.presence) }
    }

    /// The item with its secret, or nil where no value stands in its record.
    func item(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let found: TokenItem?? = try read(name) { file, state throws(FormatFault) in
            state.state == .tombstone ? nil : try file.openItem(in: arena, call.presence)
        }
        return found ?? nil
    }

    /// Changes the item's record while no other process can; see ``Journal``.
    public func change<Result>(
        _ name: ItemName, _ call: CallContext,
        _ body: (JournalEntry, JournalKeys) throws(TokenKeepError) -> (JournalChange, Result)
    ) throws(TokenKeepError) -> Result {
        // What is generic is copied for each kind of answer: there is little of it.
        let item = try take(name, call)
        defer { item.lock.release() }
        // It cannot fail where the first has not, but for a broken disk, which the change itself would tell of.
        defer { try? item.generation.renew() }
        let (change, result) = try noting(name) { () throws(TokenKeepError) in
            try body(item.present.entry, item.opened.keys.journal)
        }
        try make(change, of: name, item, call.presence)
        return result
    }

    /// An item that no other process can change.
    private struct TakenItem {
        let opened: Opened
        let fileName: [UInt8]
        let lock: VaultLock
        let records: OwnedDescriptor
        let present: Present
        let generation: Generation
    }

    /// Locks an item and reads its record. Who gets it releases the lock, and renews the generation before.
    private func take(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TakenItem {
        let opened = try openOrMake(call)
        let fileName = opened.keys.fileName(of: name)
        let lock = try VaultLock(.item(name: fileName), of: opened.directory, call)
        do throws(TokenKeepError) {
            return try take(fileName, under: lock, opened, call)
        } catch {
            lock.release()
            throw error
        }
    }

    private func take(
        _ fileName: [UInt8], under lock: VaultLock, _ before: Opened, _ call: CallContext
    ) throws(TokenKeepError) -> TakenItem {
        var opened = before
        // Keys may have changed while the lock was waited for.
        if let current = try cache.keys(of: opened.directory) {
            opened = Opened(directory: opened.directory, keys: current)
        }
        let records = try records(of: opened.directory)
        let reader = RecordReader(vault: self, records: records, fileName: fileName)
        let present = try present(reader, &opened, call.presence)
        let generation = try Generation(opened.directory)
        try generation.renew()
        return TakenItem(
            opened: opened, fileName: fileName, lock: lock, records: records, present: present, generation: generation)
    }

    private func make(
        _ change: JournalChange, of name: ItemName, _ item: TakenItem, _ presence: PresenceGrant?
    ) throws(TokenKeepError) {
        if case .keep = change { return }
        let directory = item.opened.directory
        defer { ChangeSignal.send(in: directory) }
        if case .unreadable = item.present.entry {
            try VaultFiles.setAside(RecordNames.fileName(item.fileName), in: item.records)
        }
        // A hint stands before its record owes, and goes after: without one nobody looks.
        let hints = OwedHints(directory)
        let debts = item.present.entry.record?.debts ?? []
        if change.owes { try hints.add(item.fileName, owed: !debts.isEmpty) }
        try apply(change, to: name, over: item.present, in: item.records, keys: item.opened.keys, presence)
        guard !change.owes else { return }
        try hints.remove(item.fileName)
        // What was sent before a debt was paid has arrived before. Who gave the value to a module notes what is left.
        for debt in debts where !change.isRemoval || debt.kind == .delete {
            try SentValues(directory).remove(SentValues.file(of: item.fileName, module: debt.module))
        }
    }

    /// What stands in a record's place, with the fields that this version keeps without knowing them.
    private struct Present {
        var entry: JournalEntry
        var keptState: [KeptField] = []
        var keptMetadata: [KeptField] = []
    }

    /// Only the record's own damage makes it unreadable. A record of a later version is nobody's to replace.
    private func present(
        _ reader: RecordReader, _ opened: inout Opened, _ presence: PresenceGrant?
    ) throws(TokenKeepError) -> Present {
        let found = try reader.read(&opened) { file, state throws(FormatFault) in
            let record = try journalRecord(file, state, presence)
            let isReadable = record.holdsValue && record.locked == nil
            let metadata = isReadable ? try file.openMetadata(in: arena) : nil
            return Present(entry: .record(record), keptState: state.kept, keptMetadata: metadata?.kept ?? [])
        }
        switch found {
        case nil: return Present(entry: .none)
        case .success(let present): return present
        case .failure(let fault):
            let error = reader.error(fault)
            guard error.status == .corrupt else { throw error }
            return Present(entry: .unreadable(error))
        }
    }

    private func apply(
        _ change: JournalChange, to name: ItemName, over present: Present, in records: OwnedDescriptor,
        keys: KeyHierarchy, _ presence: PresenceGrant?
    ) throws(TokenKeepError) {
        let fileName = keys.fileName(of: name)
        let shown = RecordNames.fileName(fileName)
        if case .value(_, let details, _, _) = change {
            // Level and flags that cannot be read cannot be kept.
            if let locked = present.entry.record?.locked { throw locked }
            try checkDemands(of: details, replacing: present.entry.record?.details)
        }
        let bytes: [UInt8]
        do throws(FormatFault) {
            switch change {
            case .keep: return
            case .remove: bytes = []
            case .tombstone(let debts):
                let state = StateFields(
                    state: .tombstone, changedAt: .now, debts: debts, name: name, kept: present.keptState)
                bytes = try RecordSealing.tombstone(name: fileName, state: state, keys: keys)
            case .value(let recordState, let details, let secret, let debts):
                let state = StateFields(state: recordState, changedAt: .now, debts: debts, kept: present.keptState)
                let metadata = MetadataFields(details: details, kept: present.keptMetadata)
                bytes = try RecordSealing.value(
                    metadata, secret: secret, state: state, keys: keys, presence: presence, in: arena)
            }
        } catch {
            throw Vault.refusal(of: shown, error)
        }
        guard !bytes.isEmpty else { return try VaultFiles.remove(shown, in: records) }
        try bytes.lent { bytes throws(TokenKeepError) in try VaultFiles.replace(shown, in: records, with: bytes) }
    }

    /// What cannot be written is no damage of what is there.
    private static func refusal(of file: String, _ fault: FormatFault) -> TokenKeepError {
        guard case .malformed(let reason) = fault else { return fault.error(in: "records/\(file)") }
        return TokenKeepError(.internal, "records/\(file) would not be readable: \(reason)", module: "vault")
    }

    /// A record whose keys are locked is one all the same: what it owes, and that it is there, needs none of them.
    func journalRecord(
        _ file: RecordFile, _ state: StateFields, _ presence: PresenceGrant? = nil
    ) throws(FormatFault) -> JournalRecord {
        let isTombstone = state.state == .tombstone
        let arena = arena
        let shown = "records/\(RecordNames.fileName(file.prefix.name))"
        var details: ItemDetails?
        var locked: TokenKeepError?
        do throws(FormatFault) {
            if !isTombstone { details = try file.openMetadata(in: arena).details }
        } catch {
            guard case .lockedKey = error else { throw error }
            locked = error.error(in: shown)
        }
        return JournalRecord(
            state: state.state, debts: state.debts, details: details, name: state.name, locked: locked
        ) { () throws(TokenKeepError) in
            guard !isTombstone else { return nil }
            do throws(FormatFault) {
                return try file.openItem(in: arena, presence)
            } catch {
                throw error.error(in: shown)
            }
        }
    }

    /// Reads an item's record and opens what `body` asks for; nil where there is none.
    private func read<Value>(
        _ name: ItemName, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Value? {
        guard var opened = try open() else { return nil }
        let reader = RecordReader(
            vault: self, records: try records(of: opened.directory), fileName: opened.keys.fileName(of: name))
        switch try reader.read(&opened, body) {
        case nil: return nil
        case .success(let value): return value
        case .failure(let fault): throw reader.error(fault)
        }
    }

    /// The directory of the records of a vault that is there.
    func records(of directory: VaultDirectory) throws(TokenKeepError) -> OwnedDescriptor {
        guard let records = try directory.openRecords() else { throw Vault.recordsMissing(directory) }
        return records
    }

    static func recordsMissing(_ directory: VaultDirectory) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault in \(directory.path) has lost its directory records", module: "vault",
            hint: "restore it from a backup; if there is nothing to restore: mkdir -m 700 '\(directory.path)/records'")
    }
}

extension JournalChange {
    fileprivate var isRemoval: Bool {
        if case .remove = self { return true }
        return false
    }

    /// Whether the record owes something afterwards.
    fileprivate var owes: Bool {
        switch self {
        case .value(_, _, _, let debts), .tombstone(let debts): !debts.isEmpty
        case .keep, .remove: false
        }
    }
}
