import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// Copies the records of an era to the next era, under the new keys. Readers and writers go on in the old era
/// meanwhile.
///
/// Records are not synced one by one: the switch syncs the file system once, before the new era is in force.
package struct EraCopy {
    /// A file of the old era, in the state in which it was copied.
    private struct Copied {
        let identity: FileStatus.Identity
        let newFile: String
        let hasPending: Bool
        let isUnreadable: Bool
    }

    private let before: OpenVault
    private let after: OpenVault
    private let oldPresence: PresenceGrant?
    private let newPresence: PresenceGrant?
    private var copied: [String: Copied] = [:]

    /// - Parameters:
    ///   - before: the era in force, with every key open that the password opens.
    ///   - after: the new era, with all of its keys open.
    package init(
        from before: OpenVault, _ oldPresence: PresenceGrant?, to after: OpenVault, _ newPresence: PresenceGrant?
    ) {
        self.before = before
        self.after = after
        self.oldPresence = oldPresence
        self.newPresence = newPresence
    }

    /// The number of records that no key opened and that were carried over whole.
    package var unreadable: Int { copied.values.count { $0.isUnreadable } }

    /// Copies every new or changed file, and removes the copies of files that are gone.
    ///
    /// Called once while other processes write, and once under the lock of the whole vault.
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
        // The identity first: a file that is replaced during the copy is copied again.
        guard let identity = identity(of: file),
            let bytes = try VaultFiles.readVersioned(
                file, in: before.records, atMost: RecordPrefix.length + RecordPrefix.maximumCarriedBox)
        else { return }
        let new = try newFile(for: file, bytes)
        try write(new.bytes, to: new.name)
        copied[file] = Copied(
            identity: identity, newFile: new.name, hasPending: new.hasPending, isUnreadable: new.isUnreadable)
    }

    private struct NewFile {
        var name: String
        var bytes: [UInt8]
        var hasPending = false
        var isUnreadable = false
    }

    private func newFile(for file: String, _ bytes: [UInt8]) throws(TokenKeepError) -> NewFile {
        guard let name = Hexadecimal.bytes(file, count: 16) else { return try carried(file, bytes, of: nil) }
        do throws(FormatFault) {
            let record = try RecordFile(bytes, name: name, keys: before.keys)
            return try newRecord(record, try record.openState())
        } catch {
            switch error {
            case .malformed, .unknownKey: break
            case .newerVersion, .lockedKey, .presenceNeeded, .resources, .refusedHeader:
                throw error.error(in: "records/\(file)")
            }
            return try carried(file, bytes, of: itemName(name, bytes))
        }
    }

    private func newRecord(_ record: RecordFile, _ state: StateFields) throws(FormatFault) -> NewFile {
        let bytes: [UInt8]
        let name: ItemName
        if state.state == .tombstone {
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
            name: Hexadecimal.text(after.keys.fileName(of: name)), bytes: bytes, hasPending: !state.pending.isEmpty)
    }

    /// The item's names in a record whose secret or state is damaged; nil if they are unreadable too.
    private func itemName(_ name: [UInt8], _ bytes: [UInt8]) -> ItemName? {
        guard let file = try? RecordFile(bytes, name: name, keys: before.keys) else { return nil }
        return (try? file.openMetadata())?.details.name
    }

    /// Seals, under the new keys, the bytes of a file that none of the old keys opens.
    ///
    /// If the item is known, the file gets the item's new name, so that the item stays damaged. Otherwise the file is
    /// named like one that was set aside.
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
            // Files that were set aside, before or after the switch, may stand beside the record.
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

    /// Writes the hints of the new records, and copies the other directories of the era.
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
        for folder in [Records.usedFolder, HolderNotes.folder] { try link(folder) }
        let notes = SealedNotes(after)
        for note in try SealedNotes(before).all() { try notes.write(note) }
        try SessionFiles.carry(from: before, to: after)
    }

    /// Links the files of a directory into the new era. The content of these files is under no key of the old era.
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
