import Glibc
import SystemPackage
import TokenKeepCore

/// The vault's notes of what it sealed for other modules, one file per item. An item's note is changed under its lock alone.
///
/// It is durable before a module gets the secret, and goes after the module lost it: keys that are replaced wait for what is
/// noted, and what an item demands is known though the module is out of reach.
struct SealedNotes {
    static let folder = "sealed"
    private let notes: RecordNotes
    private let keys: KeyHierarchy
    private let arena: SecretArena

    init(_ opened: Vault.Opened, in arena: SecretArena) {
        notes = RecordNotes(folder: SealedNotes.folder, vault: opened.directory)
        keys = opened.keys
        self.arena = arena
    }

    /// Whether there is a note, readable or not.
    func has(_ name: ItemName) throws(TokenKeepError) -> Bool {
        do throws(Errno) {
            let path = SealedNotes.folder + "/" + file(of: name)
            return try SystemCall.status(of: path, in: notes.vault.descriptor.number) != nil
        } catch {
            throw error.error("cannot inspect \(notes.vault.path)/\(SealedNotes.folder)")
        }
    }

    func note(of name: ItemName) throws(TokenKeepError) -> SealedNote? {
        guard let folder = try notes.open() else { return nil }
        return try read(keys.fileName(of: name), in: folder)
    }

    /// Every note.
    ///
    /// - Throws: also where one cannot be read: what it says must not be lost.
    func all() throws(TokenKeepError) -> [SealedNote] {
        guard let folder = try notes.open() else { return [] }
        var found: [SealedNote] = []
        for name in try RecordNames.all(in: folder) {
            if let note = try read(name, in: folder) { found.append(note) }
        }
        return found
    }

    private func read(_ name: [UInt8], in folder: OwnedDescriptor) throws(TokenKeepError) -> SealedNote? {
        let shown = RecordNames.fileName(name)
        guard let bytes = try VaultFiles.readVersioned(shown, in: folder, atMost: SealedNoteFormat.maximumFile) else {
            return nil
        }
        do throws(FormatFault) {
            return try bytes.lent { bytes throws(FormatFault) in
                try SealedNoteFormat.parse(bytes, name: name, keys: keys, in: arena)
            }
        } catch {
            throw error.error(in: "\(SealedNotes.folder)/\(shown)")
        }
    }

    /// Replaces an item's note, durably.
    func write(_ note: SealedNote) throws(TokenKeepError) {
        let bytes: [UInt8]
        do throws(FormatFault) {
            bytes = try SealedNoteFormat.serialized(note, keys: keys)
        } catch {
            throw error.error(in: "\(SealedNotes.folder)/\(file(of: note.name))")
        }
        let folder = try notes.openOrMake(isDurable: true)
        try bytes.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(file(of: note.name), in: folder, with: bytes)
        }
    }

    /// Takes modules out of an item's note. One that names none any more is removed, durably: were it to come back, it would
    /// keep old keys waiting.
    func removeHolders(
        of name: ItemName, where isRemoved: (SealedNote.Holder) -> Bool
    ) throws(TokenKeepError) {
        guard let folder = try notes.open(), var note = try note(of: name) else { return }
        let before = note.holders.count
        note.holders.removeAll(where: isRemoved)
        guard note.holders.count != before || note.holders.isEmpty else { return }
        if note.holders.isEmpty { try VaultFiles.remove(file(of: name), in: folder) } else { try write(note) }
    }

    private func file(of name: ItemName) -> String { RecordNames.fileName(keys.fileName(of: name)) }
}

extension SealedNote {
    /// Notes that a module is about to get the item under a key.
    mutating func add(_ module: String, _ machine: MachineID, keyID: UInt64) {
        guard let index = index(of: module, machine) else {
            return holders.append(Holder(module: module, machine: machine.bytes, keyIDs: [keyID]))
        }
        if !holders[index].keyIDs.contains(keyID) { holders[index].keyIDs.append(keyID) }
    }

    func index(of module: String, _ machine: MachineID) -> Int? {
        holders.firstIndex { $0.module == module && $0.machine == machine.bytes }
    }
}
