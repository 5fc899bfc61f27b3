import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The values of one item that one module may hold, as keyed fingerprints (hashes) of 16 bytes.
package struct Holder: Equatable, Sendable {
    /// Values that the module returned at a load or whose save the module confirmed; the latest is the last.
    package var seen: [[UInt8]] = []
    /// Values that were sent to the module but not confirmed, so that the module may still store them.
    package var sent: [[UInt8]] = []

    fileprivate static let maximum = 16

    /// Makes an empty list: no value of the module is known.
    package init() {}

    /// A copy in which this value is the latest, because the module returned the value or confirmed its save.
    fileprivate func seeing(_ fingerprint: [UInt8]) -> Holder {
        var copy = self
        copy.seen = seen.filter { $0 != fingerprint }.suffix(Holder.maximum - 1) + [fingerprint]
        return copy
    }
}

/// The vault's directory `holders`: fingerprints (keyed hashes) of the values that modules may hold.
///
/// The directory has one file for each item in a module of a machine. A value that is saved directly in a module is not
/// in any record of the vault. From the fingerprint, the vault later recognises the value as saved by TokenKeep, even
/// if the saving process was killed. The files need no sync, because the vault compares the times of the values if a
/// file is missing. See docs/format.md, section 1.
struct HolderFiles {
    static let folder = "holders"
    private static let sentMark: UInt8 = 1
    private static let seenMark: UInt8 = 2
    private static let entryLength = 1 + PendingWriteFormat.fingerprintLength
    private let directory: EraFolder
    private let keys: JournalKeys
    private let machine: [UInt8]

    init(_ vault: OpenVault, of machine: MachineID) {
        directory = EraFolder(name: HolderFiles.folder, era: vault.era)
        keys = vault.keys.journal
        self.machine = keys.machine(machine.bytes)
    }

    private func file(_ name: ItemName, _ module: String) -> String {
        Hexadecimal.text(keys.id(of: name)) + "." + module + "@" + Hexadecimal.text(machine)
    }

    /// Records the fingerprint of a value that is about to be sent to a module. Keeps at most the 16 latest
    /// fingerprints.
    func append(sent fingerprint: [UInt8], _ name: ItemName, module: String) throws(TokenKeepError) {
        var known = try holder(name, module: module)
        guard !known.sent.contains(fingerprint) else { return }
        guard known.sent.count < Holder.maximum else {
            known.sent = known.sent.suffix(Holder.maximum - 1) + [fingerprint]
            return try replace(with: known, name, module: module)
        }
        try write([HolderFiles.sentMark] + fingerprint, to: file(name, module), O_APPEND)
    }

    /// Replaces the recorded fingerprints of an item's values in a module. An empty list removes the file.
    func replace(with holder: Holder, _ name: ItemName, module: String) throws(TokenKeepError) {
        guard holder != Holder() else { return try remove(name, module: module) }
        guard try self.holder(name, module: module) != holder else { return }
        let file = file(name, module)
        let seen = holder.seen.flatMap { [HolderFiles.seenMark] + $0 }
        try write(seen + holder.sent.flatMap { [HolderFiles.sentMark] + $0 }, to: file + ".tmp", O_TRUNC)
        guard let folder = try directory.open() else { return }
        do throws(Errno) {
            try SystemCall.rename(file + ".tmp", to: file, in: folder)
        } catch {
            throw error.error("cannot write to \(HolderFiles.folder)")
        }
    }

    private func write(_ bytes: [UInt8], to name: String, _ how: Int32) throws(TokenKeepError) {
        let folder = try directory.openOrMake(isDurable: false)
        do throws(Errno) {
            guard
                let file = try SystemCall.openRegular(name, in: folder.number, O_WRONLY | O_CREAT | how, mode: 0o600)
            else { throw Errno.noSuchFileOrDirectory }
            try bytes.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: file) }
        } catch {
            throw error.error("cannot write to \(HolderFiles.folder)")
        }
    }

    /// Reads the recorded fingerprints of an item's values in a module.
    ///
    /// Ignores a fingerprint that a killed process wrote only in part.
    func holder(_ name: ItemName, module: String) throws(TokenKeepError) -> Holder {
        var holder = Holder()
        guard let folder = try directory.open(),
            let bytes = try VaultFiles.read(
                file(name, module), in: folder, atMost: 2 * Holder.maximum * HolderFiles.entryLength)
        else { return holder }
        for start in stride(from: 0, through: bytes.count - HolderFiles.entryLength, by: HolderFiles.entryLength) {
            let fingerprint = Array(bytes[start + 1..<start + HolderFiles.entryLength])
            switch bytes[start] {
            case HolderFiles.seenMark: holder.seen.append(fingerprint)
            case HolderFiles.sentMark: holder.sent.append(fingerprint)
            default: break
            }
        }
        return holder
    }

    /// Removes the recorded fingerprints of an item's values in a module, if there are any. The removal is not synced.
    func remove(_ name: ItemName, module: String) throws(TokenKeepError) {
        try directory.remove(file: file(name, module))
    }
}

extension ItemTransaction {
    /// Records that a value with this fingerprint is about to be sent to a module. Ignores a failure, which must not
    /// prevent the save.
    package func noteSending(_ fingerprint: [UInt8], to module: String) {
        try? HolderFiles(vault, of: records.machine).append(sent: fingerprint, name, module: module)
    }

    /// Records that a module saved the value with this fingerprint. The module can no longer store values sent earlier.
    package func noteArrival(_ fingerprint: [UInt8], in module: String) {
        noteHolder(Holder().seeing(fingerprint), module)
    }

    /// Removes all recorded values of a module.
    ///
    /// Called if the module does not have the item and cannot store an earlier sent value any more.
    package func forgetHolder(_ module: String) { noteHolder(Holder(), module) }

    /// Replaces the recorded values of a module, for example after a recorded value could not be sent.
    package func noteHolder(_ holder: Holder, _ module: String) {
        try? HolderFiles(vault, of: records.machine).replace(with: holder, name, module: module)
    }

    /// The recorded values of the item that a module may hold; empty if they cannot be read.
    package func holder(_ module: String) -> Holder {
        (try? HolderFiles(vault, of: records.machine).holder(name, module: module)) ?? Holder()
    }
}

extension VaultJournal {
    /// Records that a load found a value in a module.
    ///
    /// Records nothing if there is no vault, if another process holds the item's lock, or if a change of the item is
    /// pending.
    ///
    /// - Returns: whether the value is now recorded as the latest.
    package func noteSeen(_ fingerprint: [UInt8], of name: ItemName, in module: String) -> Bool {
        guard let vault = try? records.open() else { return false }
        let keys = vault.keys.journal
        let notes = HolderFiles(vault, of: records.machine)
        guard let known = try? notes.holder(name, module: module) else { return false }
        if known.seen.last == fingerprint { return true }
        guard let lock = try? VaultLock(trying: .item(id: keys.id(of: name)), of: vault.directory) else { return false }
        defer { lock.release() }
        // While a change is pending, another program may have written a newer value into the module, so the fingerprint
        // of the module's value must not be recorded.
        let hint = "\(PendingHints.folder)/\(Hexadecimal.text(vault.keys.fileName(of: name)))"
        guard let known = try? notes.holder(name, module: module),
            (try? VaultFiles.exists(hint, in: vault.era.descriptor)) == false,
            (try? records.opener.open())?.era.number == vault.era.number
        else { return false }
        return (try? notes.replace(with: known.seeing(fingerprint), name, module: module)) != nil
    }
}
