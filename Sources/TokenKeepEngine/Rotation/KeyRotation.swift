import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Replaces every key of a vault by making a new era (docs/format.md, "Eras").
///
/// The items are written anew beside the old ones, while readers and writers continue. One rename then puts the new
/// items in force.
struct KeyRotation {
    /// The time to wait for other processes' item locks before the switch is given up, in milliseconds.
    private static let patience: UInt32 = 30_000

    let records: Records
    let resealing: Resealing
    let call: CallContext
    let progress: JournalProgress?

    /// Runs the whole rotation.
    ///
    /// - Parameters:
    ///   - before: the vault under its old keys; the keys of all items to be rewritten are open.
    ///   - newKeys: opens the new keys.
    ///   - check: may refuse the switch; runs under the lock of the whole vault.
    /// - Returns: the new era, and the number of records that no key opened; these records are copied unchanged.
    func run(
        _ before: UnlockedVault, with newKeys: EraKeys.Opener,
        check: (OpenVault) throws(TokenKeepError) -> Void = { _ in }
    ) throws(TokenKeepError) -> (UnlockedVault, unreadable: Int) {
        try checkRoom(before.vault)
        let change = try EraSwitch.begin(
            before.vault, opener: records.opener, with: newKeys, retiring: try keysOfSealedItems(before))
        let after = UnlockedVault(vault: change.after, keys: change.made.keys)
        var copy = EraCopy(from: before.vault, before.presence, to: change.after, after.presence)
        try copy.copyChanges(call, progress: progress)
        try KeyRotation.sync(change.after)
        // Once more, because the first copy takes long: other processes wait only for the changes made since.
        try copy.copyChanges(call)
        try KeyRotation.sync(change.after)
        try commit(change, &copy, check)
        let changed = try change.finish()
        // Without a password there is no unlock, which would otherwise remove the leftovers of earlier changes.
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

    /// Copies the changes made during the rotation and switches eras, under the lock of the whole vault.
    private func commit(
        _ change: borrowing EraSwitch, _ copy: inout EraCopy, _ check: (OpenVault) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        let before = change.before
        let lock = try VaultLock(.whole, of: before.directory, call.until(Deadline(milliseconds: KeyRotation.patience)))
        defer { lock.release() }
        guard let present = try records.opener.openForRotation(), present.headerFile == before.headerFile else {
            throw TokenKeepError(
                .conflict, "another process changed the vault's keys meanwhile", module: "vault", hint: "try again")
        }
        try check(before)
        try copy.copyChanges(call)
        try copy.copyCompanions()
        let log = try ChangeLog(before.directory)
        try log.append(.anything)
        // Also if the switch fails after its rename: the new era is in force then.
        defer { log.announce(.anything) }
        try change.commit()
    }

    /// The keys under which other modules hold items. An item without a note may be under any key.
    private func keysOfSealedItems(_ vault: UnlockedVault) throws(TokenKeepError) -> [OpenKey] {
        let noted = Set(try SealedNotes(vault.vault).all().flatMap { $0.holders.flatMap(\.keyIDs) })
        let hasUnnoted = try resealing.hasUnnotedItems(of: vault.vault, call)
        guard hasUnnoted || !noted.isEmpty else { return [] }
        return vault.keys.filter { key in
            switch key.purpose {
            case .level: hasUnnoted || noted.contains(key.id)
            case .presence: true
            default: false
            }
        }.map(\.retiring)
    }

    /// Refuses the rotation if the disk has no room for a second copy of all records.
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
