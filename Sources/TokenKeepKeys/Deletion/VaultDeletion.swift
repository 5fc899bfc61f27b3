import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// Deletes a vault: its keys in the kernel, its indices in the TPM and its files. Needs no password.
///
/// The link `current` is first renamed to `deleted`, so that no process uses the vault any more. If the deletion is
/// interrupted after the rename, the next deletion completes the removal.
package struct VaultDeletion: ~Copyable {
    /// The parts of a vault that its deletion did not remove.
    package struct Remains: Sendable {
        /// The reason why the TPM may keep indices of the vault; nil if it keeps none.
        package fileprivate(set) var indices: DeviceFault?
        /// The reason why keys of the vault may be left in the kernel; nil if no key is left.
        package fileprivate(set) var keys: String?
        /// The paths of files that are not the vault's, and were therefore not removed.
        package fileprivate(set) var files: [String] = []
    }

    /// The name to which the link `current` is renamed.
    static let link = "deleted"

    private let opener: VaultOpener
    private let directory: VaultDirectory
    private let lock: VaultLock
    private let sessions: Int32

    private init(_ opener: VaultOpener, _ directory: VaultDirectory, _ lock: VaultLock, sessions: Int32) {
        self.opener = opener
        self.directory = directory
        self.lock = lock
        self.sessions = sessions
    }

    /// Locks the vault and makes it unusable, durably.
    ///
    /// - Parameter check: called under the lock, before anything is changed, unless an earlier deletion was interrupted.
    /// - Returns: nil if there is no vault.
    /// - Throws: ``Status/busy`` if another process has an item locked or renews a session's tokens until the deadline,
    ///   or if another process is replacing the vault's keys.
    package static func begin(
        _ opener: VaultOpener, _ call: CallContext, check: () throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> VaultDeletion? {
        guard let directory = try VaultDirectory.open(try opener.path()), try isVault(directory) else { return nil }
        let sessions = try lockSessions(of: directory, call)
        let lock: VaultLock
        do throws(TokenKeepError) {
            lock = try VaultLock(.whole, of: directory, call)
        } catch {
            release(sessions)
            throw error
        }
        let deletion = VaultDeletion(opener, directory, lock, sessions: sessions)
        if try !hasBegun(in: directory) { try check() }
        try checkNoEraIsMade(in: directory)
        try deletion.markDeleted()
        return deletion
    }

    deinit {
        lock.release()
        VaultDeletion.release(sessions)
    }

    /// Whether an earlier deletion of the vault was interrupted.
    package static func hasBegun(at path: String) throws(TokenKeepError) -> Bool {
        guard let directory = try VaultDirectory.open(path) else { return false }
        return try hasBegun(in: directory)
    }

    /// Whether the directory has a link `deleted` but no link `current`. If `current` exists, a link `deleted` is
    /// ignored.
    static func hasBegun(in directory: VaultDirectory) throws(TokenKeepError) -> Bool {
        guard try VaultFiles.exists(link, in: directory.descriptor) else { return false }
        return try !VaultFiles.exists(EraDirectory.link, in: directory.descriptor)
    }

    /// Removes the vault's keys from the kernel, its indices from the TPM, and then its files.
    ///
    /// - Throws: ``Status/io`` if a file could not be removed. The next deletion tries again.
    package consuming func finish() throws(TokenKeepError) -> Remains {
        var remains = Remains()
        let keys = opener.residentKeys
        if let vaultID = vaultID(), !isElsewhere(vaultID) {
            remains.keys = keys.removal.purgeDeleted(vaultID)
            remains.indices = indicesFault(keys.devices, vaultID)
        }
        remains.files = try VaultFileRemoval(directory: directory).run()
        return remains
    }

    // MARK: Locks

    /// Takes the lock without which no session's tokens are renewed. Returns the lock's descriptor, or -1 if the vault
    /// has no directory `sessions`.
    private static func lockSessions(of directory: VaultDirectory, _ call: CallContext) throws(TokenKeepError) -> Int32
    {
        guard let folder = try directory.openFolder(VaultFileNames.sessions) else { return -1 }
        var descriptor: Int32 = -1
        let milliseconds = call.deadline.remainingMilliseconds
        let error = call.deadline.lendingCancellation { isCancelled, data in
            tokenkeep_lock_acquire(
                folder.number, "lock", 0, 1 << 62, TOKENKEEP_NO_GATE, milliseconds, isCancelled, data, &descriptor)
        }
        if error == EBUSY {
            throw call.deadline.failure(
                "another process renews sessions of the vault", else: .busy, module: "vault",
                hint: "end tokenkeep session keep, or try again")
        }
        guard error == 0 else {
            throw Errno(rawValue: error).error("cannot lock \(directory.path)/\(VaultFileNames.sessions)/lock")
        }
        return descriptor
    }

    private static func release(_ descriptor: Int32) { if descriptor >= 0 { tokenkeep_lock_release(descriptor) } }

    /// Throws ``Status/busy`` if another process is making a directory `era-N` in order to replace the vault's keys.
    private static func checkNoEraIsMade(in directory: VaultDirectory) throws(TokenKeepError) {
        for number in try directory.eras() {
            guard let era = try EraDirectory.open(number, of: directory),
                try VaultFiles.exists(EraRemoval.making, in: era.descriptor)
            else { continue }
            var descriptor: Int32 = -1
            let error = tokenkeep_lock_try(era.descriptor.number, EraRemoval.making, 0, 1, &descriptor)
            release(descriptor)
            guard error != EBUSY else {
                throw TokenKeepError(
                    .busy, "another process replaces the vault's keys", module: "vault", hint: "try again")
            }
        }
    }

    // MARK: The vault

    /// Whether the directory contains a vault, even if the vault is damaged or partly deleted.
    private static func isVault(_ directory: VaultDirectory) throws(TokenKeepError) -> Bool {
        for name in [link, EraDirectory.link] where try VaultFiles.exists(name, in: directory.descriptor) {
            return true
        }
        return try !directory.eras().isEmpty
    }

    private func markDeleted() throws(TokenKeepError) {
        do throws(Errno) {
            let present = try SystemCall.status(of: EraDirectory.link, in: directory.descriptor.number)
            if present == nil, try SystemCall.status(of: VaultDeletion.link, in: directory.descriptor.number) == nil {
                // The vault is damaged, because it has no link `current`. The target of `deleted` therefore does not
                // matter.
                try SystemCall.symbolicLink(to: EraDirectory.name(1), as: VaultDeletion.link, in: directory.descriptor)
            } else if present != nil {
                try SystemCall.rename(EraDirectory.link, to: VaultDeletion.link, in: directory.descriptor)
            }
        } catch {
            throw error.error("cannot delete \(directory.path)/\(EraDirectory.link)")
        }
        try VaultFiles.sync(directory.descriptor, after: "deleting \(EraDirectory.link)")
    }

    /// The vault's id, read from the era that the link `deleted` names; nil if the id cannot be read.
    ///
    /// No other directory `era-N` is read, because somebody may have put the era of another vault there.
    private func vaultID() -> [UInt8]? {
        guard let name = (try? SystemCall.target(of: VaultDeletion.link, in: directory.descriptor.number)) ?? nil,
            let number = EraDirectory.number(of: name),
            let era = (try? EraDirectory.open(number, of: directory)) ?? nil
        else { return nil }
        return VaultOpener.vaultID(of: era)
    }

    /// Whether the vault was unlocked at another path and still exists there, so that this deletion removes only a copy.
    private func isElsewhere(_ vaultID: [UInt8]) -> Bool {
        guard let trust = (try? opener.residentKeys.trust(of: vaultID)) ?? nil else { return false }
        return trust.path != directory.path && !VaultDirectory.isGone(vaultID, from: trust.path)
    }

    /// The directories `era-N`, the highest N first.
    private func eras() -> [EraDirectory] {
        let numbers = (try? directory.eras()) ?? []
        return numbers.sorted(by: >).compactMap { (try? EraDirectory.open($0, of: directory)) ?? nil }
    }

    /// Destroys the vault's indices in the TPM. Returns the reason why the TPM may keep indices; nil if it keeps none.
    private func indicesFault(_ devices: Devices, _ vaultID: [UInt8]) -> DeviceFault? {
        do throws(DeviceFault) {
            try devices.destroyIndices(of: vaultID)
            return nil
        } catch {
            // If this machine has no TPM, an index can be left only in a TPM that was removed. Report this only if the
            // vault was bound to a TPM.
            return error.kind == .absent && !eras().contains(where: VaultDeletion.isBoundToTPM) ? nil : error
        }
    }

    private static func isBoundToTPM(_ era: EraDirectory) -> Bool {
        HeaderFiles.names.contains { name in
            guard let bytes = try? VaultFiles.read(name, in: era.descriptor, atMost: Header.maximumLength),
                let header = try? bytes.lent({ bytes throws(FormatFault) in try Header.parse(bytes) })
            else { return false }
            return header.device?.provider == .tpm2
        }
    }
}
