import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// Re-encrypts a vault's records under new keys, into the next directory `era-N` (docs/format.md, "Eras").
///
/// Other processes read and write the old records meanwhile. The new records are not synced one by one, because the
/// file system is synced once before the new directory comes into force.
package struct EraCopy {
    /// A copied record file: the identity of the original when it was read, and the name of the copy.
    private struct Copied {
        let identity: FileStatus.Identity
        let newFile: String
        let hasPending: Bool
        let isUnreadable: Bool
        let sealingKeys: [UInt64]
    }

    private let before: OpenVault
    private let after: OpenVault
    private let oldPresence: PresenceGrant?
    private let newPresence: PresenceGrant?
    private var copied: [String: Copied] = [:]

    /// - Parameters:
    ///   - before: the vault under its old keys, from which records are read. All keys that the password opens are
    ///     open.
    ///   - after: the vault under its new keys, all of which are open.
    package init(
        from before: OpenVault, _ oldPresence: PresenceGrant?, to after: OpenVault, _ newPresence: PresenceGrant?
    ) {
        self.before = before
        self.after = after
        self.oldPresence = oldPresence
        self.newPresence = newPresence
    }

    /// The number of records that no old key opened, and that were therefore encrypted as a whole under the new keys.
    package var unreadable: Int { copied.values.count { $0.isUnreadable } }

    /// The ids of the keys under which modules hold sealed items, as listed in the copied records.
    package var sealingKeys: Set<UInt64> { Set(copied.values.flatMap(\.sealingKeys)) }

    /// Copies each record file that is new or changed since the last call, and removes the copies of removed files.
    ///
    /// Called one or more times while other processes write, and a last time under the lock of the whole vault.
    package mutating func copyChanges(
        _ call: CallContext, progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) throws(TokenKeepError) {
        let files = try VaultFiles.names(in: before.records).filter { !$0.hasSuffix(".tmp") }
        var gone = copied
        for (index, file) in files.enumerated() {
            try EraCopy.checkDeadline(call)
            if index % 64 == 0 { progress?(index, files.count) }
            if let known = gone.removeValue(forKey: file), known.identity == identity(of: file) { continue }
            try copy(file)
        }
        for (file, known) in gone {
            try remove(known)
            copied[file] = nil
        }
        progress?(files.count, files.count)
    }

    private static func checkDeadline(_ call: CallContext) throws(TokenKeepError) {
        try call.deadline.checkCancellation()
        guard call.deadline.hasPassed else { return }
        throw TokenKeepError(
            .timedOut, "the deadline passed before every item was written under the new keys", module: "vault",
            hint: "nothing was changed: allow more time")
    }

    private func identity(of file: String) -> FileStatus.Identity? {
        ((try? SystemCall.status(of: file, in: before.records.number)) ?? nil)?.identity
    }

    private mutating func copy(_ file: String) throws(TokenKeepError) {
        if let earlier = copied.removeValue(forKey: file) { try remove(earlier) }
        // Read the file's identity before its bytes. If the file is replaced in between, the next call sees another
        // identity and copies the file again.
        guard let identity = identity(of: file),
            let bytes = try VaultFiles.readVersioned(
                file, in: before.records, atMost: RecordPrefix.length + RecordPrefix.maximumCarriedBox)
        else { return }
        let new = try newFile(for: file, bytes)
        try write(new.bytes, to: new.name)
        copied[file] = Copied(
            identity: identity, newFile: new.name, hasPending: new.hasPending, isUnreadable: new.isUnreadable,
            sealingKeys: new.sealingKeys)
    }

    private struct NewFile {
        var name: String
        var bytes: [UInt8]
        var hasPending = false
        var isUnreadable = false
        var sealingKeys: [UInt64] = []
    }

    private func newFile(for file: String, _ bytes: [UInt8]) throws(TokenKeepError) -> NewFile {
        guard let name = Hexadecimal.bytes(file, count: 16) else { return try carried(file, bytes, of: nil) }
        do throws(FormatFault) {
            let record = try RecordFile(bytes, name: name, keys: before.keys)
            return try newRecord(record, try record.openState())
        } catch {
            switch error {
            case .malformed, .unknownKey: break
            case .newerVersion, .lockedKey, .deviceFault, .unenforcedKey, .presenceNeeded, .resources, .refusedHeader:
                throw error.error(in: "records/\(file)")
            }
            return try carried(file, bytes, of: itemName(name, bytes))
        }
    }

    private func newRecord(_ record: RecordFile, _ state: StateFields) throws(FormatFault) -> NewFile {
        let bytes: [UInt8]
        let name: ItemName
        if !record.holdsValue {
            guard let cleared = state.name else { throw .malformed("it does not say which item was cleared") }
            name = cleared
            bytes = try RecordWriter.tombstone(
                name: after.keys.fileName(of: name), state: state, keys: after.keys)
        } else {
            let metadata = try record.openMetadata()
            name = metadata.details.name
            bytes = try RecordWriter.value(
                metadata, secret: try record.openItem(oldPresence).secret, state: state, keys: after.keys,
                presence: newPresence)
        }
        return NewFile(
            name: Hexadecimal.text(after.keys.fileName(of: name)), bytes: bytes, hasPending: !state.pending.isEmpty,
            sealingKeys: state.sealed?.holders.flatMap(\.keyIDs) ?? [])
    }

    /// The name of the item whose record is damaged; nil if the name is damaged, too.
    private func itemName(_ name: [UInt8], _ bytes: [UInt8]) -> ItemName? {
        guard let file = try? RecordFile(bytes, name: name, keys: before.keys) else { return nil }
        return (try? file.openMetadata())?.details.name
    }

    /// Encrypts an unreadable file (no old key opens it) as a whole under the new keys.
    ///
    /// If the item's name is known, the new file becomes the item's record and stays unreadable. Otherwise the new file
    /// is named `NAME.corrupt-N`, like an unreadable record that a save has renamed.
    private func carried(_ file: String, _ bytes: [UInt8], of name: ItemName?) throws(TokenKeepError) -> NewFile {
        let stem = file.split(separator: ".").first.flatMap { Hexadecimal.bytes(String($0), count: 16) }
        let carried = CarriedFile(bytes, of: name, fileName: stem, keys: before.keys)
        guard carried.bytes.count <= CarriedFile.maximumLength else {
            throw TokenKeepError(
                .corrupt, "records/\(file) is no record, and too long to be carried over", module: "vault",
                hint: "nothing was changed; move the file out of the vault")
        }
        let isRecord = Hexadecimal.bytes(file, count: 16) != nil
        let fileName = isRecord ? carried.name.map(after.keys.fileName(of:)) : nil
        do throws(FormatFault) {
            let sealed = try carried.sealed(as: fileName ?? stem ?? RandomBytes.make(16), keys: after.keys)
            // This number is above the numbers of all files that were renamed earlier, so the name is not in use.
            let aside = "\(file).corrupt-\(VaultFiles.maximumSetAside + 1)"
            let shown = fileName.map(Hexadecimal.text) ?? (isRecord ? aside : file)
            return NewFile(name: shown, bytes: sealed, isUnreadable: isRecord)
        } catch {
            throw error.error(in: "records/\(file)")
        }
    }

    private func write(_ bytes: [UInt8], to file: String) throws(TokenKeepError) {
        do throws(Errno) {
            let flags = O_WRONLY | O_CREAT | O_TRUNC
            guard let opened = try SystemCall.openRegular(file, in: after.records.number, flags, mode: 0o600) else {
                throw Errno.noSuchFileOrDirectory
            }
            try bytes.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: opened) }
        } catch {
            throw error.error("cannot write records/\(file)")
        }
    }

    private func remove(_ copied: Copied) throws(TokenKeepError) {
        do throws(Errno) {
            _ = try SystemCall.remove(copied.newFile, in: after.records)
        } catch {
            throw error.error("cannot remove records/\(copied.newFile)")
        }
    }

    /// Copies the vault's other directories, and makes a hint (an empty file) for each record with pending changes.
    ///
    /// Called last, under the lock of the whole vault.
    package func copyCompanions() throws(TokenKeepError) {
        let hints = EraFolder(name: PendingHints.folder, era: after.era)
        for record in copied.values where record.hasPending {
            let folder = try hints.openOrMake(isDurable: false)
            do throws(Errno) {
                _ = try SystemCall.openRegular(record.newFile, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
            } catch {
                throw error.error("cannot write \(PendingHints.folder)/\(record.newFile)")
            }
        }
        for folder in [VaultJournal.usedFolder, HolderFiles.folder] { try link(folder) }
        try SessionFiles.carry(from: before, to: after)
    }

    /// Makes hard links to the files of a directory, with the same names, in the new directory.
    ///
    /// The files need no re-encryption, because none of the replaced keys encrypts them.
    private func link(_ folder: String) throws(TokenKeepError) {
        guard let from = try EraFolder(name: folder, era: before.era).open() else { return }
        let to = try EraFolder(name: folder, era: after.era).openOrMake(isDurable: false)
        for file in try VaultFiles.names(in: from) where !file.hasSuffix(".tmp") {
            do throws(Errno) {
                try SystemCall.link(file, from: from, to: to)
            } catch {
                throw error.error("cannot carry \(folder)/\(file) over")
            }
        }
    }
}
