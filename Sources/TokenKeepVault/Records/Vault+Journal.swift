import Glibc
import SystemPackage
public import TokenKeepCore

extension Vault: Journal {
    /// The item's record, or nil where there is none. Takes no lock.
    public func record(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        try read(name) { file, state throws(FormatFault) in
            JournalRecord(
                state: state.state, debts: state.debts,
                details: state.state == .tombstone ? nil : try file.openMetadata(in: arena).details)
        }
    }

    /// The item with its secret, or nil where no value stands in its record.
    func item(_ name: ItemName) throws(TokenKeepError) -> TokenItem? {
        let found: TokenItem?? = try read(name) { file, state throws(FormatFault) in
            guard state.state != .tombstone else { return nil }
            return try file.openItem(in: arena)
        }
        return found ?? nil
    }

    /// Changes the item's record while no other process can; see ``Journal``.
    public func change<Result>(
        _ name: ItemName, _ call: CallContext,
        _ body: (JournalEntry, ItemVersionKey) throws(TokenKeepError) -> (JournalChange, Result)
    ) throws(TokenKeepError) -> Result {
        var opened = try openOrMake(call)
        let fileName = opened.keys.fileName(of: name)
        let lock = try VaultLock(.item(name: fileName), of: opened.directory, call)
        defer { lock.release() }
        // Keys may have changed while the lock was waited for.
        if let current = try cache.keys(of: opened.directory) {
            opened = Opened(directory: opened.directory, keys: current)
        }
        guard let records = try opened.directory.openRecords() else { throw Vault.recordsMissing(opened.directory) }
        let present = try present(fileName, in: records, &opened)
        let (change, result) = try body(present.entry, opened.keys.versions)
        if case .keep = change { return result }
        if case .unreadable = present.entry {
            try VaultFiles.setAside(RecordNames.fileName(fileName), in: records)
        }
        try apply(change, keeping: present.kept, to: fileName, in: records, keys: opened.keys)
        return result
    }

    private typealias Present = (entry: JournalEntry, kept: [KeptField])

    /// What stands in the record's place. A record of a later version is nobody's to replace.
    private func present(
        _ fileName: [UInt8], in records: OwnedDescriptor, _ opened: inout Opened
    ) throws(TokenKeepError) -> Present {
        let shown = RecordNames.fileName(fileName)
        do throws(TokenKeepError) {
            guard let bytes = try VaultFiles.read(shown, in: records, atMost: RecordPrefix.maximumFile) else {
                return (.none, [])
            }
            return try open(bytes, fileName: fileName, &opened) { file, state throws(FormatFault) in
                let details = state.state == .tombstone ? nil : try file.openMetadata(in: arena).details
                let record = JournalRecord(state: state.state, debts: state.debts, details: details)
                return (.record(record), state.kept)
            }
        } catch {
            guard error.status == .corrupt else { throw error }
            return (.unreadable(error), [])
        }
    }

    private func apply(
        _ change: JournalChange, keeping kept: [KeptField], to fileName: [UInt8], in records: OwnedDescriptor,
        keys: KeyHierarchy
    ) throws(TokenKeepError) {
        let shown = RecordNames.fileName(fileName)
        let bytes: [UInt8]
        switch change {
        case .keep: return
        case .remove:
            _ = try VaultFiles.remove(shown, in: records)
            return
        case .tombstone(let debts):
            let state = StateFields(state: .tombstone, changedAt: .now, debts: try Vault.checked(debts), kept: kept)
            bytes = RecordSealing.tombstone(name: fileName, state: state, keys: keys)
        case .value(let recordState, let details, let secret, let debts):
            let state = StateFields(state: recordState, changedAt: .now, debts: try Vault.checked(debts), kept: kept)
            do throws(FormatFault) {
                bytes = try RecordSealing.value(
                    MetadataFields(details: details), secret: secret, state: state, keys: keys)
            } catch {
                throw error.error(in: "records/\(shown)")
            }
        }
        try bytes.lent { bytes throws(TokenKeepError) in try VaultFiles.replace(shown, in: records, with: bytes) }
    }

    /// Reads a record and opens what `body` asks for; nil where there is none.
    private func read<Result>(
        _ name: ItemName, _ body: (RecordFile, StateFields) throws(FormatFault) -> Result
    ) throws(TokenKeepError) -> Result? {
        guard var opened = try open() else { return nil }
        let fileName = opened.keys.fileName(of: name)
        let path = "records/" + RecordNames.fileName(fileName)
        guard
            let bytes = try VaultFiles.read(path, in: opened.directory.descriptor, atMost: RecordPrefix.maximumFile)
        else {
            if try opened.directory.openRecords() == nil { throw Vault.recordsMissing(opened.directory) }
            return nil
        }
        return try open(bytes, fileName: fileName, &opened, body)
    }

    /// Opens a record; on a key that is not known, once more with the header read again.
    func open<Result>(
        _ bytes: [UInt8], fileName: [UInt8], _ opened: inout Opened,
        _ body: (RecordFile, StateFields) throws(FormatFault) -> Result
    ) throws(TokenKeepError) -> Result {
        var hasReadAgain = false
        while true {
            do throws(FormatFault) {
                let file = try RecordFile(bytes, name: fileName, keys: opened.keys)
                return try body(file, try file.openState(in: arena))
            } catch {
                guard error == .unknownKey, !hasReadAgain, let keys = try cache.keys(of: opened.directory, fresh: true)
                else { throw error.error(in: "records/\(RecordNames.fileName(fileName))") }
                opened = Opened(directory: opened.directory, keys: keys)
                hasReadAgain = true
            }
        }
    }

    static func recordsMissing(_ directory: VaultDirectory) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault in \(directory.path) has lost its directory records", module: "vault",
            hint: "restore it from a backup; if there is nothing to restore: mkdir -m 700 '\(directory.path)/records'")
    }

    private static func checked(_ debts: [Debt]) throws(TokenKeepError) -> [Debt] {
        guard debts.allSatisfy(DebtFormat.isValid) else {
            throw TokenKeepError(.internal, "a debt does not fit the format", module: "vault")
        }
        return debts
    }
}
