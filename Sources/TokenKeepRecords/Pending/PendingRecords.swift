package import TokenKeepCore
import TokenKeepKeys

/// The records with pending writes.
package struct PendingRecords: Sendable {
    /// Records with values, and tombstones, by their file names in binary.
    package private(set) var records: [[UInt8]: JournalRecord] = [:]
    /// The first record that could not be read.
    package private(set) var problem: TokenKeepError?
    /// How many could not be read; those that are locked are among the records.
    package private(set) var unreadable = 0
    private var keys: KeyRing?

    /// The record of an item, if it has pending writes.
    package func record(of name: ItemName) -> JournalRecord? {
        keys.flatMap { records[$0.fileName(of: name)] }
    }

    fileprivate init() {}

    fileprivate init(_ records: Records, _ vault: inout OpenVault) throws(TokenKeepError) {
        keys = vault.keys
        for name in try PendingHints(vault.era).all() {
            let reader = RecordReader(records: records, fileName: name)
            switch try reader.read(&vault, { file, state throws(FormatFault) in try file.journalRecord(state) }) {
            case nil: continue
            case .failure(let fault):
                problem = problem ?? reader.error(fault)
                unreadable += 1
            case .success(let record) where record.pending.isEmpty: continue
            case .success(let record):
                self.records[name] = record
                problem = problem ?? record.locked
            }
        }
    }
}

extension Records {
    /// Every record with pending writes.
    package func pendingRecords() throws(TokenKeepError) -> PendingRecords {
        guard var vault = try open() else { return PendingRecords() }
        while true {
            let era = vault.era.number
            let found = try PendingRecords(self, &vault)
            // The names of records are others in another era.
            guard let present = try open(), present.era.number != era else { return found }
            vault = present
        }
    }

    /// Whether any record may have pending writes. The answer needs no key; a vault that was not made has none.
    package func mayHavePending() throws(TokenKeepError) -> Bool {
        guard let vault = try open() else { return false }
        return try !PendingHints(vault.era).areNone()
    }

    /// Changes before and after every change of a record: an absence counts only if it stayed the same meanwhile.
    package func generation() throws(TokenKeepError) -> UInt64 {
        guard let vault = try open() else { return 0 }
        return try Generation.read(in: vault.directory)
    }

    /// Removes the hints of records without pending writes, which a crash may leave: each costs every reader a look.
    ///
    /// Nothing is removed while another process holds an item.
    package func removeStaleHints() throws(TokenKeepError) {
        guard var vault = try open() else { return }
        let hints = PendingHints(vault.era)
        let era = vault.era.number
        for name in try hints.all() {
            let reader = RecordReader(records: self, fileName: name)
            guard try hasNothingPending(reader, &vault), vault.era.number == era else { continue }
            // The hint alone does not name its item, whose lock would do.
            guard let lock = try VaultLock(trying: .whole, of: vault.directory) else { return }
            defer { lock.release() }
            if try hasNothingPending(reader, &vault), vault.era.number == era { try hints.remove(name) }
        }
    }

    /// False if the record cannot be read.
    private func hasNothingPending(_ reader: RecordReader, _ vault: inout OpenVault) throws(TokenKeepError) -> Bool {
        switch try reader.read(&vault, { _, state throws(FormatFault) in state.pending.isEmpty }) {
        case nil: true
        case .success(let isEmpty): isEmpty
        case .failure: false
        }
    }
}
