package import TokenKeepCore
import TokenKeepKeys

/// The records with pending writes.
package struct PendingRecords: Sendable {
    /// Records with values, and tombstones, by their binary file names.
    package private(set) var records: [[UInt8]: JournalRecord] = [:]
    /// The error of the first record that could not be read.
    package private(set) var problem: TokenKeepError?
    /// The number of records that could not be read. Locked records do not count: they are in ``records``.
    package private(set) var unreadable = 0
    private var keys: KeyRing?

    /// The record of an item; nil if it has no pending writes.
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
    /// Reads every record with pending writes.
    package func pendingRecords() throws(TokenKeepError) -> PendingRecords {
        guard var vault = try open() else { return PendingRecords() }
        while true {
            let era = vault.era.number
            let found = try PendingRecords(self, &vault)
            // The file names of records differ in each era.
            guard let present = try open(), present.era.number != era else { return found }
            vault = present
        }
    }

    /// Whether any record may have pending writes. Needs no key. False if no vault was made.
    package func mayHavePending() throws(TokenKeepError) -> Bool {
        guard let vault = try open() else { return false }
        return try !PendingHints(vault.era).areNone()
    }

    /// A value that changes before and after every change of a record.
    ///
    /// A search compares the values before and after it. If they differ, an item that was not found may exist.
    package func generation() throws(TokenKeepError) -> UInt64 {
        guard let vault = try open() else { return 0 }
        return try ChangeLog.generation(in: vault.directory)
    }

    /// Removes the hints of records without pending writes, left by a crash. Each such hint costs every reader a read.
    ///
    /// Removes nothing while another process holds an item.
    package func removeStaleHints() throws(TokenKeepError) {
        guard var vault = try open() else { return }
        let hints = PendingHints(vault.era)
        let era = vault.era.number
        for name in try hints.all() {
            let reader = RecordReader(records: self, fileName: name)
            guard try hasNothingPending(reader, &vault), vault.era.number == era else { continue }
            // A hint does not name its item, so the item's own lock cannot be taken.
            guard let lock = try VaultLock(trying: .whole, of: vault.directory) else { return }
            defer { lock.release() }
            if try hasNothingPending(reader, &vault), vault.era.number == era { try hints.remove(name) }
        }
    }

    /// Whether a record has no pending writes. False if the record cannot be read.
    private func hasNothingPending(_ reader: RecordReader, _ vault: inout OpenVault) throws(TokenKeepError) -> Bool {
        switch try reader.read(&vault, { _, state throws(FormatFault) in state.pending.isEmpty }) {
        case nil: true
        case .success(let isEmpty): isEmpty
        case .failure: false
        }
    }
}
