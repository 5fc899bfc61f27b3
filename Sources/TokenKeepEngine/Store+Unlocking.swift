public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of an unlock, or of another call that opens the vault's keys.
public struct UnlockOutcome: Sendable {
    /// The reason why only this store can use the keys; nil if every process of the user can use them.
    public internal(set) var reasonForMemory: String?
    /// The reason why items of ``AccessLevel/whenUnlocked`` stay locked, such as a locked screen; nil if they are
    /// unlocked.
    public internal(set) var screenKeyProblem: String?
    /// The reason why items of levels that need the device stay locked; nil if they are unlocked, or if there is no
    /// device.
    public internal(set) var deviceProblem: String?
    /// The numbers of NV indices that the previous TPM still has although the vault no longer uses them.
    package internal(set) var remainingIndices: [UInt32] = []
    /// The error that stopped the re-encryption of items in other modules under the present keys; nil if there was
    /// none. The vault is unlocked in any case.
    public internal(set) var problem: TokenKeepError?
    /// The number of records, and of sealed items in other modules, that no key decrypts. These records and items are
    /// kept.
    public internal(set) var unreadable = 0
}

/// The keys that locking the vault removes.
public enum Locking: Sendable {
    /// Locking removes all keys, as at the end of the user's session.
    case all
    /// Locking removes only the keys that the lock of the screen also removes.
    case screen
}

extension Store {
    /// Unlocks the vault with its password, for every process of the user.
    ///
    /// If the kernel's keyring cannot be used, only this store is unlocked. Items in other modules under older keys are
    /// re-encrypted until the deadline. The key of ``AccessLevel/whenUnlocked`` is removed when the screen is locked,
    /// if an agent runs, otherwise after 180 seconds. The keys of all other levels stay until the vault is locked or
    /// the machine is switched off.
    ///
    /// - Parameter isAcceptingOlder: whether to accept an older header than the one that the machine's TPM knows,
    ///   because the user has restored it.
    /// - Throws: ``Status/denied`` if the password is wrong; ``Status/unsupported`` if the vault has no password;
    ///   ``Status/corrupt`` if the header was altered without the password, or is older than the TPM's anchor.
    @discardableResult
    public func unlock(
        _ password: SecretBytes, until deadline: Deadline? = nil, isAcceptingOlder: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try begin(.any, until: deadline)
        var unlocked: UnlockedVault
        if let opened = try unlocking.withoutPassword() {
            unlocked = opened
        } else {
            unlocked = try unlocking.unlock(password, call, isAcceptingOlder: isAcceptingOlder)
        }
        if unlocked.lacksIndexAlone, let renewed = try? device.renewLostLevel(unlocked, password, call) {
            unlocked = renewed
        }
        let keys = records.opener.residentKeys
        var outcome = UnlockOutcome(
            reasonForMemory: keys.reasonForMemory, screenKeyProblem: keys.screenKeyProblem,
            deviceProblem: unlocked.deviceFault?.reason)
        try? records.opener.removeRubbish(of: unlocked.vault)
        guard unlocked.vault.keys.header.hasRetiringKeys else { return outcome }
        do throws(TokenKeepError) {
            outcome.unreadable = try resealing.run(unlocked, call, progress: progress).unreadable
        } catch {
            outcome.problem = error
        }
        return outcome
    }

    /// The re-encryption of items that other modules hold under older keys.
    var resealing: Resealing { Resealing(records: records, reconciler: reconciler) }

    /// Unlocks the vault only for the programs that this process starts.
    ///
    /// The configuration's ``StoreConfiguration/residentKeys`` must keep keys in memory only.
    ///
    /// - Returns: the descriptor of a sealed memory file with the keys. Executed programs inherit the descriptor.
    /// - Throws: the errors of ``unlock(_:until:isAcceptingOlder:progress:)``; ``Status/unsupported`` if the kernel
    ///   refuses such a file.
    package func unlockForProcessTree(_ password: SecretBytes) throws(TokenKeepError) -> Int32 {
        let unlocked = try unlocking.unlock(password, begin(.any))
        return try records.opener.residentKeys.handOver(unlocked.vault.keys.vaultID)
    }

    /// Locks the vault for every process of the user.
    ///
    /// - Returns: the reason why the vault is locked only for this program, because the kernel's keyring cannot be
    ///   reached; nil if the vault is locked for all processes.
    /// - Throws: ``Status/unsupported`` if the vault has no password, ``Status/io`` if a key could not be removed.
    @discardableResult
    public func lock(_ locking: Locking = .all) throws(TokenKeepError) -> String? {
        _ = try begin(.any)
        let keys = records.opener.residentKeys
        let vaultID: [UInt8]
        do throws(TokenKeepError) {
            guard let found = try records.opener.vaultID() else { throw PasswordSlots.noPassword }
            vaultID = found
        } catch {
            // The agent may hold keys of other vaults, which must be locked, too.
            if locking == .screen { keys.agent.lock() }
            throw error
        }
        // The keys are removed before the header is read, so that a damaged header cannot prevent the removal.
        let reason = try keys.removal.purge(all: locking == .all, of: vaultID)
        if locking == .all { keys.noteLock(of: vaultID) }
        guard try records.openToUnlock()?.keys.header.hasPassword == true else {
            keys.dropLockMark(of: vaultID)
            throw PasswordSlots.noPassword
        }
        // This is the last step, because an access to the file system of another vault may hang.
        keys.removal.dropKeysOfLostVaults()
        return reason
    }

    /// Returns the protection that an item of this level and with these flags has now, in this stack and on this
    /// machine.
    ///
    /// - Throws: ``Status/unsupported`` for a level that needs a device, if the vault is bound to none;
    ///   ``Status/policy`` for a level that needs a password, if the vault has none.
    public func protection(of level: AccessLevel, _ flags: ItemFlags = []) throws(TokenKeepError) -> Protection {
        _ = try begin(.save)
        try LevelPolicy.check(level, records)
        if level == .memoryOnly, let protection = dispatcher.memory.protection(of: level, flags) { return protection }
        _ = records.opener.residentKeys.probe()
        _ = try records.exists()  // an unreadable vault gives no protection
        let given = ProtectionRequirements(dispatcher: dispatcher, sealer: VaultSealer(records))
            .protection(of: level, flags)
        guard level.needsDevice, let vault = try records.open(),
            let remark = records.opener.residentKeys.devices.anchorRemark(of: vault)
        else { return given }
        return given.adding(remark: remark, for: .diskTheft)
    }

    /// Returns copies of the keys for items of these levels (a lease), which stay usable after the vault is locked.
    ///
    /// - Returns: nil if the vault is locked or has no password.
    package func sealingLease(of levels: Set<AccessLevel>) -> SealingLease? {
        (try? records.open())?.keys.lease(of: levels)
    }

    /// Asks the user to unlock the vault or the module that threw ``Status/locked``, if prompts are allowed.
    ///
    /// The caller must hold no lock, because other processes would wait for the user.
    ///
    /// - Returns: whether the user was asked.
    /// - Throws: ``Status/cancelled`` if the user dismissed the prompt, ``Status/denied`` if the password is wrong, or
    ///   another failure because of which the vault or the module stays locked.
    package func askToOpen(
        _ name: ItemName, after error: TokenKeepError, until deadline: Deadline
    ) throws(TokenKeepError) -> Bool {
        let call = try begin(.any, until: deadline)
        guard error.status == .locked, call.promptsAllowed else { return false }
        if error.module == "vault" {
            guard unlocking.prompt != nil else { return false }
            _ = try unlocking.askForPassword(for: name, call)
            return true
        }
        guard let module = dispatcher.operations.places.modules.first(where: { $0.name == error.module }) else {
            return false
        }
        try module.prepare(call)
        return true
    }
}
