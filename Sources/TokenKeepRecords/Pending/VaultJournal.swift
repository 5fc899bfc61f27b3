package import TokenKeepCore
import TokenKeepKeys

/// The journal of a vault: the pending writes and removals in its records, and its notes about other modules.
package struct VaultJournal: Sendable {
    let records: Records

    /// Reads every record that has pending writes or removals.
    package func pendingRecords() throws(TokenKeepError) -> PendingRecords {
        guard var vault = try records.open() else { return PendingRecords() }
        while true {
            let era = vault.era.number
            let found = try PendingRecords(records, &vault)
            // If the vault's keys were replaced meanwhile, read again, because the records now have other file names.
            guard let present = try records.open(), present.era.number != era else { return found }
            vault = present
        }
    }

    /// Whether any record may have pending changes; false without a vault. Needs no key.
    package func mayHavePending() throws(TokenKeepError) -> Bool {
        guard let vault = try records.open() else { return false }
        return try !PendingHints(vault.era).areNone()
    }

    /// The vault's generation: the random number in the last entry of the log of changes.
    ///
    /// Every change of a record changes the generation.
    ///
    /// A search reads the generation at its beginning and at its end. If the two differ, an item that the search did
    /// not find may exist, because it may have moved between two modules.
    package func generation() throws(TokenKeepError) -> UInt64 {
        guard let vault = try records.open() else { return 0 }
        return try ChangeLog.generation(in: vault.directory)
    }

    /// Removes the hints that a crashed process left for records without pending changes.
    ///
    /// A hint is an empty file that marks a record as having pending changes, so that every reader reads that record.
    /// Removes nothing while another process holds the lock of any item.
    package func removeStaleHints() throws(TokenKeepError) {
        guard var vault = try records.open() else { return }
        let hints = PendingHints(vault.era)
        let era = vault.era.number
        for name in try hints.all() {
            let reader = RecordReader(records: records, fileName: name)
            guard try hasNothingPending(reader, &vault), vault.era.number == era else { continue }
            // A hint does not contain the item's ID, so this process cannot lock the item alone and locks the whole
            // vault.
            guard let lock = try VaultLock(trying: .whole, of: vault.directory) else { return }
            defer { lock.release() }
            if try hasNothingPending(reader, &vault), vault.era.number == era { try hints.remove(name) }
        }
    }

    /// Whether a record has no pending changes, or is missing.
    ///
    /// False if the record cannot be read. Also false if the record has a forged pending write, so that its hint stays
    /// and reports still name the record.
    private func hasNothingPending(_ reader: RecordReader, _ vault: inout OpenVault) throws(TokenKeepError) -> Bool {
        let isQuiet = { (_: RecordFile, state: StateFields) throws(FormatFault) in
            state.pending.isEmpty && state.writes != .forged
        }
        return switch try reader.read(&vault, isQuiet) {
        case nil: true
        case .success(let isEmpty): isEmpty
        case .failure: false
        }
    }
}
