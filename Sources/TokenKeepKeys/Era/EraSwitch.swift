import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// A new directory `era-N` with new keys, made beside the present one. One rename puts the new keys in force.
///
/// Only one process at a time makes a new directory `era-N`. If this process is killed, a later process removes the
/// unfinished directory.
package struct EraSwitch: ~Copyable {
    package let before: OpenVault
    package let after: OpenVault
    package let made: EraKeys
    private let opener: VaultOpener
    private let making: Int32

    /// Makes the next directory `era-N`, with the new keys in two files (keyfile and header).
    ///
    /// The present keys stay in force.
    ///
    /// - Throws: ``Status/busy`` if another process is replacing the vault's keys.
    package static func begin(
        _ before: OpenVault, opener: VaultOpener, with newKeys: EraKeys.Opener, retiring: [OpenKey],
        device: DeviceIdentity?
    ) throws(TokenKeepError) -> EraSwitch {
        let number = try EraDirectory.number(after: before.era.number)
        let vault = before.directory
        try checkIsNext(number, before.era.number, of: vault)
        let era = try EraDirectory.make(number, of: vault)
        let making = try lock(era)
        do throws(TokenKeepError) {
            guard try vault.currentEra() == before.era.number else {
                throw VaultOpener.changedMeanwhile
            }
            opener.sweepIndices(of: before, for: device)
            let made = try EraKeys.make(
                vaultID: before.keys.vaultID, era: number, opener: newKeys, journalKey: before.keys.journalKey,
                retiring: retiring, device: device.map { ($0, opener.residentKeys.devices) })
            try EraRemoval.empty(era)
            _ = try EraDirectory.make(number, of: vault)
            try made.write(to: era)
            guard let records = try era.openRecords() else {
                throw TokenKeepError(.io, "\(era.path)/records vanished while it was made", module: "vault")
            }
            let after = before.with(era: era, records: records, made, try made.ring(opener.residentKeys))
            return EraSwitch(before: before, after: after, made: made, opener: opener, making: making)
        } catch {
            // Another process may have put this directory's keys in force just before it was locked.
            era.endMaking(of: vault)
            tokenkeep_lock_release(making)
            throw error
        }
    }

    private init(before: OpenVault, after: OpenVault, made: EraKeys, opener: VaultOpener, making: Int32) {
        self.before = before
        self.after = after
        self.made = made
        self.opener = opener
        self.making = making
    }

    deinit { tokenkeep_lock_release(making) }

    /// Throws ``Status/corrupt`` if a complete directory `era-N` with the next number exists.
    ///
    /// If such a directory exists, another process has just replaced the keys, or somebody has put back an older link
    /// `current`.
    private static func checkIsNext(
        _ number: UInt64, _ present: UInt64, of vault: VaultDirectory
    ) throws(TokenKeepError) {
        guard let era = try EraDirectory.open(number, of: vault), try !era.isUnfinished() else { return }
        // A directory stays unfinished until its keys are in force, so the link is read after the directory.
        guard try vault.currentEra() == present else { throw VaultOpener.changedMeanwhile }
        throw TokenKeepError(
            .corrupt,
            "\(vault.path) has the later era \(EraDirectory.name(number)): \(EraDirectory.link) is an older link",
            module: "vault",
            hint: "nothing was changed; put the right link back, or move the later era away if the older one is meant")
    }

    private static func lock(_ era: EraDirectory) throws(TokenKeepError) -> Int32 {
        var descriptor: Int32 = -1
        let error = tokenkeep_lock_try(era.descriptor.number, EraRemoval.making, 0, 1, &descriptor)
        if error == 0 { return descriptor }
        guard error == EBUSY else { throw Errno(rawValue: error).error("cannot lock \(era.path)/making") }
        throw TokenKeepError(
            .busy, "another process is replacing the vault's keys", module: "vault", hint: "try again when it is done")
    }

    /// Puts the new keys in force. The caller must have locked the whole vault.
    ///
    /// The new header is added to the verified headers before the rename, so that readers accept the old and the new
    /// header. If the change removes the password, the secret of the level that needs a password is destroyed just
    /// before the rename.
    package func commit(_ call: CallContext) throws(TokenKeepError) {
        let vaultID = before.keys.vaultID
        let hasPassword = made.header.hasPassword
        let old = HeaderTrust.Entry(
            before.keys.header, file: before.headerFile, headerKey: try EraSwitch.headerKey(before.keys))
        let next = HeaderTrust.Entry(
            made.header, file: made.headerFile, headerKey: try EraSwitch.headerKey(after.keys))
        let tpm = try TPMChange(before, to: made.header, file: made.headerFile, opener.residentKeys.devices)
        let path = try opener.path()
        try opener.lockingTrust(of: before.directory, call) { () throws(TokenKeepError) in
            try opener.residentKeys.keep(
                hasPassword ? made.keys : [], HeaderTrust(entries: [old, next], path: path), of: vaultID)
        }
        do throws(Errno) {
            try SystemCall.syncFileSystem(of: after.era.descriptor)
        } catch {
            throw error.error("cannot make \(after.era.path) durable")
        }
        try tpm.indices.destroySecrets()
        // The lock of the verified headers is held while `current` is replaced. Otherwise a concurrent unlock could
        // keep keys of the old era.
        try opener.lockingTrust(of: before.directory, call) { () throws(TokenKeepError) in
            try before.directory.switchTo(made.era)
            guard hasPassword else { return opener.residentKeys.removal.forget(vaultID) }
            try opener.residentKeys.setTrust(HeaderTrust(entries: [next], path: path), of: vaultID)
        }
        tpm.finish()
    }

    private static func headerKey(_ keys: KeyRing) throws(TokenKeepError) -> SecretBytes {
        do throws(FormatFault) {
            return try keys.currentKey(for: .header).bytes
        } catch {
            throw error.error(in: "header")
        }
    }

    /// Removes the directory of the old keys. If the removal fails, the next unlock removes the directory.
    package consuming func finish() throws(TokenKeepError) -> UnlockedVault {
        let retiring = made.header.knownSlots.flatMap(\.keys).filter(\.isRetiring)
        for key in before.keys.header.knownSlots.flatMap(\.keys) where !retiring.contains(where: { $0.id == key.id }) {
            opener.residentKeys.drop(key.id, for: key.purpose, of: before.keys.vaultID)
        }
        after.era.endMaking(of: after.directory)
        try? EraRemoval.remove(before.era.number, of: before.directory)
        return UnlockedVault(vault: after, keys: made.keys)
    }
}

extension VaultOpener {
    /// Removes the directories `era-N` of earlier keys, and unfinished directories with a higher N.
    ///
    /// A complete directory with a higher N stays: if somebody put back an older link `current`, that directory has the
    /// valid keys.
    package func removeRubbish(of vault: OpenVault) throws(TokenKeepError) {
        for number in try vault.directory.eras() where number != vault.era.number {
            guard let era = try EraDirectory.open(number, of: vault.directory) else { continue }
            let isUnfinished = try era.isUnfinished()
            guard number < vault.era.number || isUnfinished else { continue }
            var descriptor: Int32 = -1
            guard tokenkeep_lock_try(era.descriptor.number, EraRemoval.making, 0, 1, &descriptor) == 0 else { continue }
            defer { tokenkeep_lock_release(descriptor) }
            guard try vault.directory.currentEra() == vault.era.number else {
                // The lock's file may be new, and this directory's keys may be in force since.
                return era.endMaking(of: vault.directory)
            }
            try EraRemoval.remove(number, of: vault.directory)
        }
    }
}

extension EraDirectory {
    /// Whether a process was interrupted while it made this directory, so that the keys in it were never in force.
    func isUnfinished() throws(TokenKeepError) -> Bool {
        if try VaultFiles.exists(EraRemoval.making, in: descriptor) { return true }
        return try HeaderFiles.missing(in: self).count == HeaderFiles.names.count
    }

    /// Removes the lock file of the process that made this directory, durably, if the keys in this directory are in force.
    ///
    /// The caller has locked the file. A directory with this file counts as unfinished: if somebody put back an older link
    /// `current`, the next change of keys would remove the directory. Errors are ignored, because each opening of the vault
    /// tries again.
    func endMaking(of vault: VaultDirectory) {
        // The link first: after a loss of power, an older link beside a directory without this file would be an error.
        guard (try? vault.currentEra()) == number, (try? SystemCall.sync(vault.descriptor)) != nil,
            (try? SystemCall.remove(EraRemoval.making, in: descriptor)) == true
        else { return }
        try? SystemCall.sync(descriptor)
    }

    /// Removes the lock file that a killed process left in this directory, as ``endMaking(of:)`` does.
    func removeMakingLeft(of vault: VaultDirectory) {
        var lock: Int32 = -1
        guard (try? VaultFiles.exists(EraRemoval.making, in: descriptor)) == true,
            tokenkeep_lock_try(descriptor.number, EraRemoval.making, 0, 1, &lock) == 0
        else { return }
        endMaking(of: vault)
        tokenkeep_lock_release(lock)
    }
}
