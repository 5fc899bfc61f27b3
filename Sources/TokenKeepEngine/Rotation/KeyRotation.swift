import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Replaces every key of a vault: copies the vault into a new era (new keys and files, see docs/format.md).
///
/// The items are re-encrypted into new files while other processes continue to use the old files. One rename then puts
/// the new files in force.
struct KeyRotation {
    /// The maximum time, in milliseconds, to wait for the lock of the whole vault. If the lock is not acquired in this
    /// time, the rotation fails.
    private static let patience: UInt32 = 30_000

    let records: Records
    let resealing: Resealing
    let call: CallContext
    let progress: JournalProgress?

    /// Replaces all keys of the vault.
    ///
    /// - Parameters:
    ///   - before: the vault under its old keys, with the keys of all its items unlocked.
    ///   - newKeys: the means to open the new keys: the password or the keyfile.
    ///   - device: the device to which the vault is bound afterwards; nil to keep the present device.
    ///   - check: called just before the new files are put in force, while the whole vault is locked. If it throws, the
    ///     old keys stay in force.
    /// - Returns: the vault under its new keys, and the number of records that no key decrypted. The bytes of such a
    ///   record are encrypted as a whole under the new keys.
    func run(
        _ before: UnlockedVault, with newKeys: EraKeys.Opener, binding device: DeviceIdentity? = nil,
        check: (OpenVault) throws(TokenKeepError) -> Void = { _ in }
    ) throws(TokenKeepError) -> (UnlockedVault, unreadable: Int) {
        try before.checkDevice()
        try checkRoom(before.vault)
        let needed = try keysOfSealedItems(before)
        if let changed = try run(before, with: newKeys, keeping: needed, binding: device, check: check) {
            return changed
        }
        // During the attempt, a module received an item under a key that the attempt does not keep. The second attempt
        // keeps the keys of all levels.
        let all = KeyRotation.sealingKeys(of: before) { _ in true }
        guard let changed = try run(before, with: newKeys, keeping: all, binding: device, check: check) else {
            throw VaultOpener.changedMeanwhile
        }
        return changed
    }

    /// Makes one attempt.
    ///
    /// - Parameter kept: the old keys that stay in the new era as retiring keys.
    /// - Returns: nil, without a change, if a module meanwhile received an item under an old key that is not in `kept`.
    private func run(
        _ before: UnlockedVault, with newKeys: EraKeys.Opener, keeping kept: [OpenKey], binding device: DeviceIdentity?,
        check: (OpenVault) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> (UnlockedVault, unreadable: Int)? {
        let change = try EraSwitch.begin(
            before.vault, opener: records.opener, with: newKeys, retiring: kept,
            device: device ?? before.vault.keys.header.device)
        let after = UnlockedVault(vault: change.after, keys: change.made.keys)
        var copy = EraCopy(from: before.vault, before.presence, to: change.after, after.presence)
        try copy.copyChanges(call, progress: progress)
        try KeyRotation.sync(change.after)
        // Other processes have written during the first, long copy. Their changes are copied before the vault is
        // locked, so that the copy under the lock is short.
        try copy.copyChanges(call)
        try KeyRotation.sync(change.after)
        guard try commit(change, &copy, Set(kept.map(\.id)), check) else { return nil }
        let changed = try change.finish()
        // An unlock removes the files of interrupted rotations, but a vault without a password is never unlocked.
        try? records.opener.removeRubbish(of: changed.vault)
        return (changed, copy.unreadable)
    }

    private static func sync(_ vault: OpenVault) throws(TokenKeepError) {
        do throws(Errno) {
            try SystemCall.syncFileSystem(of: vault.era.descriptor)
        } catch {
            throw error.error("cannot make \(vault.era.path) durable")
        }
    }

    /// Locks the whole vault, copies the last changes and puts the new keys in force.
    ///
    /// - Returns: false, without a change, if a module has an item under an old key that is not in `kept`.
    private func commit(
        _ change: borrowing EraSwitch, _ copy: inout EraCopy, _ kept: Set<UInt64>,
        _ check: (OpenVault) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> Bool {
        let before = change.before
        let lock = try VaultLock(.whole, of: before.directory, call.until(Deadline(milliseconds: KeyRotation.patience)))
        defer { lock.release() }
        guard try records.opener.isUnchanged(before) else { throw VaultOpener.changedMeanwhile }
        try check(before)
        try copy.copyChanges(call)
        guard copy.sealingKeys.isSubset(of: kept) else { return false }
        try copy.copyCompanions()
        let log = try ChangeLog(before.directory)
        try log.append(.anything)
        // Watchers are notified even if `commit` throws, because the new keys may be in force then.
        defer { log.announce(.anything) }
        try change.commit(call)
        return true
    }

    /// Returns the keys under which items in other modules are sealed.
    ///
    /// If such an item has no readable record, it may be sealed under any key, so the keys of all levels are returned.
    private func keysOfSealedItems(_ vault: UnlockedVault) throws(TokenKeepError) -> [OpenKey] {
        let sealed = try SealedRecords(vault.vault).all()
        let recorded = Set(sealed.entries.flatMap { $0.copies.holders.flatMap(\.keyIDs) })
        let header = vault.vault.keys.header
        let mayBeUnread = sealed.mayBeIncomplete && (header.hasPassword || header.hasRetiringKeys)
        let hasUnrecorded = mayBeUnread || resealing.hasUnrecordedItems(besides: sealed, call)
        guard hasUnrecorded || !recorded.isEmpty else { return [] }
        return KeyRotation.sealingKeys(of: vault) { hasUnrecorded || recorded.contains($0) }
    }

    /// The level keys for which `isWanted` returns true, and the presence key, all marked as retiring.
    private static func sealingKeys(of vault: UnlockedVault, where isWanted: (UInt64) -> Bool) -> [OpenKey] {
        vault.keys.filter { key in
            switch key.purpose {
            case .level: isWanted(key.id)
            case .presence: true
            default: false
            }
        }.map(\.retiring)
    }

    /// Throws ``Status/io`` if the disk has no room for a second copy of all records.
    private func checkRoom(_ vault: OpenVault) throws(TokenKeepError) {
        var needed: UInt64 = 1 << 20
        for name in try VaultFiles.names(in: vault.records) {
            guard let status = (try? SystemCall.status(of: name, in: vault.records.number)) ?? nil else { continue }
            needed += UInt64(status.size / 4096 + 1) * 4096
        }
        var room = statvfs()
        guard fstatvfs(vault.records.number, &room) == 0 else { return }
        let free = UInt64(room.f_bavail) * UInt64(room.f_frsize)
        guard free < needed else { return }
        throw TokenKeepError(
            .io, "writing every item anew needs \(needed >> 20) MiB, and the disk has \(free >> 20) MiB left",
            module: "vault", hint: "make room on the disk")
    }
}
