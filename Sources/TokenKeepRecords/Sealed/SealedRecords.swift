package import TokenKeepCore
package import TokenKeepKeys

/// The records of items that modules may hold sealed (encrypted by the vault).
///
/// These records tell which keys the vault must keep, and an item's level and flags while its module is unavailable. A
/// process changes such a record only while it has locked the item. A sealed copy is noted durably before the module
/// gets the sealed secret, and the note is removed after the module has lost the secret.
package struct SealedRecords {
    private let vault: OpenVault

    package init(_ vault: OpenVault) { self.vault = vault }

    /// A record whose item is stored in other modules, sealed by the vault.
    package struct Entry: Sendable {
        package let name: ItemName
        package let copies: SealedCopies
        /// Whether the record has neither a value nor pending changes.
        package let isAlone: Bool
    }

    /// The records that name sealed copies.
    package struct Found: Sendable {
        package fileprivate(set) var entries: [Entry] = []
        /// The first error met while reading the records; nil if every record was read.
        package fileprivate(set) var problem: TokenKeepError?
        fileprivate let hasSetAside: Bool

        /// Whether unreadable records, also those that were set aside, may have named more copies.
        package var mayBeIncomplete: Bool { problem != nil || hasSetAside }
    }

    /// The sealed copies of an item; nil if the item's record names no copies.
    ///
    /// - Throws: if the record cannot be read. An unreadable record must not count as a record without sealed copies.
    package func copies(of name: ItemName) throws(TokenKeepError) -> SealedCopies? {
        try read(vault.keys.fileName(of: name))?.state.sealed
    }

    /// The sealed copies of all items. Reads every record.
    package func all() throws(TokenKeepError) -> Found {
        var found = Found(hasSetAside: try VaultFiles.countSetAside(in: vault.records) > 0)
        for name in try RecordNames.all(in: vault.records) {
            do throws(TokenKeepError) {
                guard let (file, state) = try read(name), let copies = state.sealed, let item = state.name else {
                    continue
                }
                found.entries.append(
                    Entry(name: item, copies: copies, isAlone: !file.holdsValue && state.pending.isEmpty))
            } catch {
                found.problem = found.problem ?? error
            }
        }
        return found
    }

    private func read(_ name: [UInt8]) throws(TokenKeepError) -> (file: RecordFile, state: StateFields)? {
        let shown = Hexadecimal.text(name)
        guard let bytes = try VaultFiles.readVersioned(shown, in: vault.records, atMost: RecordPrefix.maximumFile)
        else { return nil }
        do throws(FormatFault) {
            let file = try RecordFile(bytes, name: name, keys: vault.keys)
            return (file, try file.openState())
        } catch {
            throw error.error(in: "records/\(shown)")
        }
    }

    /// Changes the sealed copies in the record of a locked item, durably. Value and pending changes stay.
    fileprivate func change(of name: ItemName, _ body: (inout SealedCopies?) -> Void) throws(TokenKeepError) {
        let fileName = vault.keys.fileName(of: name)
        let present = try read(fileName)
        var state = present?.state ?? StateFields(changedAt: .now)
        body(&state.sealed)
        if state.sealed?.holders.isEmpty == true { state.sealed = nil }
        guard state.sealed != present?.state.sealed else { return }
        let shown = Hexadecimal.text(fileName)
        let holdsValue = present?.file.holdsValue ?? false
        state.name = holdsValue && state.sealed == nil ? nil : name
        guard holdsValue || state.sealed != nil || !state.pending.isEmpty else {
            return try VaultFiles.remove(shown, in: vault.records)
        }
        let bytes: [UInt8]
        do throws(FormatFault) {
            bytes =
                holdsValue
                ? try present?.file.replacing(state) ?? []
                : try RecordWriter.tombstone(name: fileName, state: state, keys: vault.keys)
        } catch {
            throw error.error(in: "records/\(shown)")
        }
        try bytes.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(shown, in: vault.records, with: bytes)
        }
    }
}

/// The changes of an item's sealed copies during one transaction, which has locked the item.
///
/// The transaction reads the copies once. Every change during the transaction goes through this object, so that the
/// transaction knows when it must read them again.
final class CopyChanges: Sendable {
    private struct State {
        var haveChanged = false
        var acknowledged: Set<String> = []
    }

    private let records: SealedRecords
    private let state = MutexGuarded(State())

    init(_ vault: OpenVault) { records = SealedRecords(vault) }

    /// Whether the copies in the record may have changed since the transaction read the record.
    var haveChanged: Bool { state.withLock { $0.haveChanged } }

    /// Changes the copies in the record, durably.
    func change(of name: ItemName, _ body: (inout SealedCopies?) -> Void) throws(TokenKeepError) {
        state.withLock { $0.haveChanged = true }
        try records.change(of: name, body)
    }

    /// Notes that a module acknowledged the item's last sealed secret. The record's next write drops the earlier ones.
    func acknowledge(_ module: String) { state.withLock { _ = $0.acknowledged.insert(module) } }

    /// A copy of `copies` with only the latest secret for each module that has acknowledged it.
    func applied(to copies: SealedCopies, _ machine: [UInt8]) -> SealedCopies {
        var copies = copies
        for module in state.withLock({ $0.acknowledged }) { copies.keepLatest(module, machine) }
        return copies
    }

    /// Called after the transaction has written the record.
    func recordWasWritten() { state.withLock { $0 = State(haveChanged: true) } }
}

extension ItemTransaction {
    /// Records that the module holds the item encrypted under the current key, and under no earlier key.
    ///
    /// Replaces the module's entries for two machines: `machine` and this machine.
    package func noteResealed(in module: String, on machine: [UInt8]) throws(TokenKeepError) {
        let keys = vault.keys
        let present = machineHash
        try copyChanges.change(of: name) { copies in
            guard let before = copies else { return }
            let latest = before.holder(module, present)?.fingerprints.last
            copies?.holders.removeAll { $0.module == module && ($0.machine == machine || $0.machine == present) }
            copies?.holders.append(
                SealedCopies.Holder(
                    module: module, machine: present, keyIDs: [keys.currentKeyID(for: .level(before.level)) ?? 0],
                    fingerprints: latest.map { [$0] } ?? []))
        }
    }

    /// Records that a module no longer holds the sealed item, on this machine or on every machine.
    package func forgetSealed(in module: String, onEveryMachine: Bool) throws(TokenKeepError) {
        try sealer.forget(name, in: module, everywhere: onEveryMachine)
    }

    /// The level and flags of the item that the vault sealed for a module; nil if the vault sealed no copy.
    ///
    /// Also nil if the record was unreadable when the transaction began, because the record's value is then replaced.
    ///
    /// - Throws: if the record cannot be read.
    package func sealedDetails() throws(TokenKeepError) -> ItemDetails? {
        guard entry.problem == nil, let copies = try sealedCopies() else { return nil }
        return ItemDetails(
            name: name, label: name.defaultLabel, accessLevel: copies.level, flags: copies.flags, module: "vault")
    }
}
