package import TokenKeepCore
package import TokenKeepKeys

/// A locked item. While this value exists, no other process or thread changes the item.
///
/// A function that may only be called while the item is locked takes this value as a parameter. The lock is released at
/// the end of the value's scope, even if nothing was changed.
package struct ItemTransaction: ~Copyable {
    package let name: ItemName
    /// The item's record, as it was when this transaction began.
    package let entry: JournalEntry
    let vault: OpenVault
    let records: Records
    let copyChanges: CopyChanges
    private let fileName: [UInt8]
    private let lock: VaultLock
    private let log: ChangeLog
    private let presence: PresenceGrant?
    private let kept: UnknownFields
    /// The item's sealed copies that the record listed when this transaction began.
    private let firstCopies: SealedCopies?
    /// The pending writes and removals in the current record.
    private var pending: [PendingWrite]

    /// The keys that compute versions and fingerprints.
    package var keys: JournalKeys { vault.keys.journal }

    /// Locks an item, and then reads its record. If there is no vault, makes a vault.
    fileprivate init(_ name: ItemName, _ records: Records, _ call: CallContext) throws(TokenKeepError) {
        let before = try records.openOrMake(call)
        let lock = try VaultLock(.item(id: before.keys.journal.id(of: name)), of: before.directory, call)
        do throws(TokenKeepError) {
            // The vault's keys may have been replaced while this process waited for the lock, so open the vault again.
            var vault = try records.reopen(before, call)
            if let lease = call.lease { vault = vault.adding(vault.keys.leased(lease)) }
            let fileName = vault.keys.fileName(of: name)
            let present = try Present(
                of: name, RecordReader(records: records, fileName: fileName, item: name), &vault, call.presence)
            let log = try ChangeLog(vault.directory)
            try log.append(.began(fileName))
            self.name = name
            self.entry = present.entry
            self.kept = present.kept
            firstCopies = present.copies
            pending = present.entry.record?.pending ?? []
            self.vault = vault
            copyChanges = CopyChanges(vault)
            self.records = records
            self.fileName = fileName
            self.lock = lock
            self.log = log
            self.presence = call.presence
        } catch {
            lock.release()
            throw error
        }
    }

    deinit {
        // Ignore a failure: if this entry is missing, readers of the log only read the record more often.
        _ = try? log.append(.ended(fileName))
        lock.release()
    }

    /// Changes the item's record. The file of an unreadable record is kept under another name.
    ///
    /// - Throws: ``Status/locked`` if the key of the item's level is locked; ``Status/policy`` if the vault protects
    ///   the item too weakly; ``Status/io`` if the record cannot be written durably. After any error but ``Status/io``,
    ///   the record is unchanged.
    package mutating func apply(_ change: JournalChange) throws(TokenKeepError) {
        if case .keep = change { return }
        do throws(TokenKeepError) {
            try make(change)
        } catch {
            throw error.of(name)
        }
    }

    private mutating func make(_ change: JournalChange) throws(TokenKeepError) {
        defer { log.announce(.changed(fileName)) }
        if case .unreadable = entry {
            try VaultFiles.setAside(Hexadecimal.text(fileName), in: vault.records)
        }
        // Add the hint (an empty file) before the record is written, and remove it only afterwards, because readers
        // that look for pending changes skip records without a hint.
        let hints = PendingHints(vault.era)
        let hadPending = !pending.isEmpty
        if change.hasPending { try hints.add(fileName, hadPending: hadPending) }
        do throws(TokenKeepError) {
            try write(change)
        } catch {
            if !hadPending { try? hints.remove(fileName) }
            throw error
        }
        pending = change.pending
        // The record has already been changed, so ignore a failure: a superfluous hint only costs later readers some
        // time.
        if !change.hasPending { try? hints.remove(fileName) }
    }

    private func write(_ change: JournalChange) throws(TokenKeepError) {
        guard case .parts(let value, let pending) = change else { return }
        let bytes: [UInt8]
        let shown = Hexadecimal.text(fileName)
        let sealed = try copiesToWrite()
        let state = StateFields(
            changedAt: .now, pending: pending, name: value == nil || sealed != nil ? name : nil, sealed: sealed,
            kept: kept.state)
        do throws(FormatFault) {
            if let value {
                try FormatFault.needing { () throws(TokenKeepError) in try check(value.details) }
                bytes = try RecordWriter.value(
                    MetadataFields(details: value.details, kept: kept.metadata), secret: value.secret, state: state,
                    keys: vault.keys, presence: presence)
            } else {
                bytes =
                    pending.isEmpty && sealed == nil
                    ? [] : try RecordWriter.tombstone(name: fileName, state: state, keys: vault.keys)
            }
        } catch {
            throw ItemTransaction.refusal(of: shown, error)
        }
        if bytes.isEmpty {
            try VaultFiles.remove(shown, in: vault.records)
        } else {
            try bytes.lent { bytes throws(TokenKeepError) in
                try VaultFiles.replace(shown, in: vault.records, with: bytes)
            }
        }
        copyChanges.recordWasWritten()
    }

    /// The sealed copies to write into the record: those that it lists now, without fingerprints of secrets that a
    /// module no longer has.
    private func copiesToWrite() throws(TokenKeepError) -> SealedCopies? {
        let copies = entry.problem == nil ? try sealedCopies() : try? SealedRecords(vault).copies(of: name)
        return copies.map { copyChanges.applied(to: $0, machineHash) }
    }

    /// The sealed copies that the record currently lists.
    ///
    /// Reads the record again if the sealer has changed the copies since the transaction began.
    func sealedCopies() throws(TokenKeepError) -> SealedCopies? {
        copyChanges.haveChanged ? try SealedRecords(vault).copies(of: name) : firstCopies
    }

    /// Throws if the new item would be protected less than the existing item.
    ///
    /// Also throws if the existing item's level and flags cannot be read.
    private func check(_ details: ItemDetails) throws(TokenKeepError) {
        if let locked = entry.record?.locked { throw locked }
        try details.checkLowersNothing(of: entry.record?.details, module: "vault")
        guard !details.flags.isDisjoint(with: .requirements) else { return }
        try VaultProtection(vault, records.opener.residentKeys).protection(of: details.accessLevel, details.flags)
            .checkRequirements(of: details)
    }

    /// The error for a value that cannot be encoded. The existing record is not damaged.
    private static func refusal(of file: String, _ fault: FormatFault) -> TokenKeepError {
        guard case .malformed(let reason) = fault else { return fault.error(in: "records/\(file)") }
        return TokenKeepError(.internal, "records/\(file) would not be readable: \(reason)", module: "vault")
    }
}

/// The fields of a record that this version does not know, which are written unchanged.
private struct UnknownFields {
    var state: [UnknownField] = []
    var metadata: [UnknownField] = []
}

/// The current record of an item, with its sealed copies and the fields that this version does not know.
private struct Present {
    var entry = JournalEntry.none
    var kept = UnknownFields()
    var copies: SealedCopies?

    /// Reads a record. A damaged record counts as unreadable; other failures are thrown.
    ///
    /// Also throws for a record that a later version of TokenKeep wrote, so that such a record is never replaced.
    init(
        of name: ItemName, _ reader: RecordReader, _ vault: inout OpenVault, _ presence: PresenceGrant?
    ) throws(TokenKeepError) {
        let found = try reader.read(&vault) {
            file, state throws(FormatFault) -> (JournalRecord, UnknownFields, SealedCopies?) in
            let (record, metadata) = try file.recordWithMetadata(state, presence)
            return (record, UnknownFields(state: state.kept, metadata: metadata?.kept ?? []), state.sealed)
        }
        switch found {
        case nil: return
        case .success((var record, let kept, let copies)):
            record.locked = record.locked?.of(name)
            // A record that only lists sealed copies contains nothing about the item's value.
            if !record.isEmpty { entry = .record(record) }
            self.kept = kept
            self.copies = copies
        case .failure(let fault):
            let error = reader.error(fault)
            guard error.status == .corrupt else { throw error }
            entry = .unreadable(error.of(name))
        }
    }
}

extension Records {
    /// Locks an item until the returned transaction ends.
    ///
    /// - Throws: ``Status/busy`` if another process still holds the item's lock at the deadline; otherwise the errors
    ///   of opening or making the vault.
    package func begin(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> ItemTransaction {
        do throws(TokenKeepError) {
            return try ItemTransaction(name, self, call)
        } catch {
            throw error.of(name)
        }
    }
}

extension JournalChange {
    /// The pending writes and removals that the record has after the change.
    fileprivate var pending: [PendingWrite] {
        switch self {
        case .parts(_, let pending): pending
        case .keep: []
        }
    }

    fileprivate var hasPending: Bool { !pending.isEmpty }
}

extension ItemTransaction {
    /// Whether a new value of this level can be encrypted under a key that only the password opens.
    ///
    /// True if the vault has a password and is unlocked.
    package func sealsWithPassword(_ level: AccessLevel) -> Bool {
        vault.keys.header.hasPassword && vault.keys.isOpen(.level(level)) && vault.keys.isOpen(.metadata)
    }

    /// The hash of this machine's id, as stored in pending writes.
    package var machineHash: [UInt8] { keys.machine(records.machine.bytes) }
}
