import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The vault's notes about items that it sealed (encrypted) for other modules, one file for each item.
///
/// A note tells which keys the vault must keep for the item, and the item's level and flags while the module is
/// unavailable. A process writes the note only while it has locked the item. The note is durable before the module gets
/// the sealed secret, and is removed after the module lost the secret.
package struct SealedNotes {
    static let folder = "sealed"
    private let directory: EraFolder
    private let keys: KeyRing

    package init(_ vault: OpenVault) {
        directory = EraFolder(name: SealedNotes.folder, era: vault.era)
        keys = vault.keys
    }

    /// Whether the vault has a note that it sealed this item for a module. True for an unreadable note, too.
    package func has(_ name: ItemName) throws(TokenKeepError) -> Bool {
        try VaultFiles.exists(SealedNotes.folder + "/" + file(of: name), in: directory.era.descriptor)
    }

    /// Reads the note about an item sealed for other modules; nil if there is none.
    ///
    /// - Throws: if the note cannot be read. An unreadable note must not count as a missing one.
    package func note(of name: ItemName) throws(TokenKeepError) -> SealedNote? {
        guard let folder = try directory.open() else { return nil }
        return try read(keys.fileName(of: name), in: folder)
    }

    /// Reads the notes about all items sealed for other modules.
    ///
    /// - Throws: if any note cannot be read.
    package func all() throws(TokenKeepError) -> [SealedNote] {
        guard let folder = try directory.open() else { return [] }
        var found: [SealedNote] = []
        for name in try RecordNames.all(in: folder) {
            if let note = try read(name, in: folder) { found.append(note) }
        }
        return found
    }

    private func read(_ name: [UInt8], in folder: OwnedDescriptor) throws(TokenKeepError) -> SealedNote? {
        let shown = Hexadecimal.text(name)
        guard let bytes = try VaultFiles.readVersioned(shown, in: folder, atMost: SealedNoteFormat.maximumFile) else {
            return nil
        }
        do throws(FormatFault) {
            return try bytes.lent { bytes throws(FormatFault) in
                try SealedNoteFormat.parse(bytes, name: name, keys: keys)
            }
        } catch {
            throw error.error(in: "\(SealedNotes.folder)/\(shown)")
        }
    }

    /// Writes the note about an item sealed for other modules. Replaces an earlier note.
    ///
    /// - Parameter isDurable: false if the earlier note may come back after a loss of power.
    func write(_ note: SealedNote, isDurable: Bool = true) throws(TokenKeepError) {
        let bytes: [UInt8]
        do throws(FormatFault) {
            bytes = try SealedNoteFormat.serialized(note, keys: keys)
        } catch {
            throw error.error(in: "\(SealedNotes.folder)/\(file(of: note.name))")
        }
        let folder = try directory.openOrMake(isDurable: true)
        try bytes.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(file(of: note.name), in: folder, with: bytes, isDurable: isDurable)
        }
    }

    /// Removes all fingerprints of a module but the latest from the note. Called after the module confirmed the last
    /// secret.
    ///
    /// Not synced: if the earlier note comes back after a loss of power, its additional fingerprints do no harm.
    func keepLatestFingerprint(
        _ name: ItemName, _ module: String, _ machine: MachineID
    ) throws(TokenKeepError) {
        let hash = keys.journal.machine(machine.bytes)
        guard var note = try note(of: name),
            let index = note.holders.firstIndex(where: { $0.module == module && $0.machine == hash }),
            note.holders[index].fingerprints.count > 1
        else { return }
        note.holders[index].fingerprints = note.holders[index].fingerprints.suffix(1)
        try write(note, isDurable: false)
    }

    /// Removes modules from the note about a sealed item. If no module is left, removes the note itself, durably.
    ///
    /// A note that came back after a loss of power would make the vault keep its old keys.
    func removeHolders(
        of name: ItemName, if isRemoved: (SealedNote.Holder) -> Bool
    ) throws(TokenKeepError) {
        guard let folder = try directory.open(), var note = try note(of: name) else { return }
        let before = note.holders.count
        note.holders.removeAll(where: isRemoved)
        guard note.holders.count != before || note.holders.isEmpty else { return }
        if note.holders.isEmpty { try VaultFiles.remove(file(of: name), in: folder) } else { try write(note) }
    }

    private func file(of name: ItemName) -> String { Hexadecimal.text(keys.fileName(of: name)) }
}

extension SealedNotes {
    /// Notes in the vault that a module is about to get this sealed item.
    func noteSealed(
        _ details: ItemDetails, in module: String, _ machine: MachineID, _ sealed: SecretBytes
    ) throws(TokenKeepError) {
        let present = try note(of: details.name)
        var note =
            present ?? SealedNote(name: details.name, level: details.accessLevel, flags: details.flags, holders: [])
        note.level = details.accessLevel
        note.flags = details.flags
        let keyID = keys.currentKeyID(for: .level(details.accessLevel)) ?? 0
        let journal = keys.journal
        note.add(module, journal.machine(machine.bytes), keyID: keyID, journal.fingerprint(of: sealed))
        if note != present { try write(note) }
    }
}

extension ItemTransaction {
    /// Notes in the vault that the module holds the item encrypted under the current key, and under no earlier key.
    ///
    /// Replaces the module's entries for two machines: the given one and this one.
    package func noteResealed(in module: String, on machine: [UInt8]) throws(TokenKeepError) {
        let notes = SealedNotes(vault)
        guard var note = try notes.note(of: name) else { return }
        let present = keys.machine(records.machine.bytes)
        let latest = note.holder(module, present)?.fingerprints.last
        note.holders.removeAll { $0.module == module && ($0.machine == machine || $0.machine == present) }
        let keyID = vault.keys.currentKeyID(for: .level(note.level)) ?? 0
        note.holders.append(
            SealedNote.Holder(
                module: module, machine: present, keyIDs: [keyID], fingerprints: latest.map { [$0] } ?? []))
        try notes.write(note)
    }

    /// Notes in the vault that a module no longer holds the sealed item, on this machine or on every machine.
    package func forgetSealed(in module: String, onEveryMachine: Bool) throws(TokenKeepError) {
        let machine = keys.machine(records.machine.bytes)
        try SealedNotes(vault).removeHolders(of: name) {
            $0.module == module && (onEveryMachine || $0.machine == machine)
        }
    }
}

extension Records {
    /// The level and flags of an item, from the vault's note about an item that it sealed (encrypted) for a module.
    ///
    /// nil if there is no note.
    ///
    /// - Throws: if the note cannot be read.
    package func sealedDetails(of name: ItemName) throws(TokenKeepError) -> ItemDetails? {
        guard let vault = try open(), let note = try SealedNotes(vault).note(of: name) else { return nil }
        return ItemDetails(
            name: name, label: name.defaultLabel, accessLevel: note.level, flags: note.flags, module: "vault")
    }
}
