package import TokenKeepCore
package import TokenKeepKeys

/// The records of items that modules may hold sealed (encrypted by the vault).
///
/// These records show which keys the vault must keep, and the level and flags of an item whose module is unavailable. A
/// process changes such a record only while it holds the item's lock. A sealed copy is recorded durably before the
/// module gets the sealed secret, and is removed from the record after the module no longer has the secret.
package struct SealedRecords {
    private let vault: OpenVault

    package init(_ vault: OpenVault) { self.vault = vault }

    /// A record that lists sealed copies of its item in other modules.
    package struct Entry: Sendable {
        package let name: ItemName
        package let copies: SealedCopies
        /// Whether the record has neither a value nor pending changes.
        package let isAlone: Bool
    }

    /// The records that list sealed copies.
    package struct Found: Sendable {
        package fileprivate(set) var entries: [Entry] = []
        /// The first error while the records were read; nil if every record was read.
        package fileprivate(set) var problem: TokenKeepError?
        fileprivate let hasSetAside: Bool

        /// Whether unreadable records, or records that were set aside, may list more copies.
        package var mayBeIncomplete: Bool { problem != nil || hasSetAside }
    }

    /// The sealed copies of an item; nil if the item's record lists no copies.
    ///
    /// - Throws: the error that makes the record unreadable, which must not count as a record without sealed copies.
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

    /// Durably changes the sealed copies in the record of a locked item. Keeps the value and the pending changes.
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

/// Changes of an item's sealed copies during one transaction, which holds the item's lock.
///
/// The transaction reads the copies once. All changes go through this object, so that the transaction knows when it
/// must read the copies again.
final class CopyChanges: Sendable {
    private struct State {
        var haveChanged = false
        var acknowledged: Set<String> = []
    }

    private let records: SealedRecords
    private let state = MutexGuarded(State())

    init(_ vault: OpenVault) { records = SealedRecords(vault) }

    /// Whether the copies in the record may have changed since the transaction began.
    var haveChanged: Bool { state.withLock { $0.haveChanged } }

    /// Durably changes the copies in the record.
    func change(of name: ItemName, _ body: (inout SealedCopies?) -> Void) throws(TokenKeepError) {
        state.withLock { $0.haveChanged = true }
        try records.change(of: name, body)
    }

    /// Notes that a module confirmed the item's last sealed secret. The record's next write removes earlier
    /// fingerprints.
    func acknowledge(_ module: String) { state.withLock { _ = $0.acknowledged.insert(module) } }

    /// A copy of `copies` with only the latest fingerprint for each module that has confirmed its secret.
    func applied(to copies: SealedCopies, _ machine: [UInt8]) -> SealedCopies {
        var copies = copies
        for module in state.withLock({ $0.acknowledged }) { copies.keepLatest(module, machine) }
        return copies
    }

    /// Called after the transaction has written the record. Discards the confirmations, which are now in the record.
    func recordWasWritten() { state.withLock { $0 = State(haveChanged: true) } }
}

extension ItemTransaction {
    /// Records that the module holds the item encrypted under the current key, and not under an earlier key.
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

    /// The level and flags of the item if the vault sealed it for a module; nil if the record lists no sealed copy.
    ///
    /// Also nil if the record was unreadable when the transaction began, because a save then replaces the record.
    ///
    /// - Throws: the error of reading the record again.
    package func sealedDetails() throws(TokenKeepError) -> ItemDetails? {
        guard entry.problem == nil, let copies = try sealedCopies() else { return nil }
        return ItemDetails(
            name: name, label: name.defaultLabel, accessLevel: copies.level, flags: copies.flags, module: "vault")
    }
}
