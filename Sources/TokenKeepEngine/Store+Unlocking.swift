public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of an unlock, or of a change of the password.
public struct UnlockOutcome: Sendable {
    /// Why the keys are in this store's memory alone; nil if every process of the user has them.
    public internal(set) var reasonForMemory: String?
    /// Why items that other modules hold are not sealed under the present keys yet; the vault is unlocked all the same.
    public internal(set) var problem: TokenKeepError?
    /// How many records, or sealed secrets, no key opens: they stay as they are.
    public internal(set) var unreadable = 0
}

/// Which keys a lock ends.
public enum Locking: Sendable {
    /// All: as at the end of the session.
    case all
    /// Those of ``AccessLevel/whenUnlocked``: as when the screen is locked.
    case screen
}

extension Store {
    /// Unlocks the vault with its password, for every process of the user; if the kernel's keyring cannot be used, for this
    /// store alone. Items that modules hold under older keys are sealed anew as far as the time allows.
    ///
    /// The key of ``AccessLevel/whenUnlocked`` ends 180 seconds later, the others when the vault is locked or the machine is
    /// switched off.
    ///
    /// - Throws: ``Status/denied`` for a wrong password, ``Status/unsupported`` if the vault has none, ``Status/corrupt`` if
    ///   its header was altered without the password.
    @discardableResult
    public func unlock(
        _ password: SecretBytes, until deadline: Deadline? = nil, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try begin(.any, until: deadline)
        let unlocked: UnlockedVault
        if let opened = try withoutPassword() { unlocked = opened } else { unlocked = try unlockVault(password, call) }
        var outcome = UnlockOutcome(reasonForMemory: records.opener.residentKeys.reasonForMemory)
        try? records.opener.removeRubbish(of: unlocked.vault)
        guard unlocked.vault.keys.header.hasRetiringKeys else { return outcome }
        do throws(TokenKeepError) {
            outcome.unreadable = try resealing.run(unlocked, call, progress: progress).unreadable
        } catch {
            outcome.problem = error
        }
        return outcome
    }

    /// A vault whose password was removed while modules held items under its keys: the keyfile opens those keys.
    func withoutPassword() throws(TokenKeepError) -> UnlockedVault? {
        guard let vault = try records.open(), !vault.keys.header.hasPassword, vault.keys.header.hasRetiringKeys else {
            return nil
        }
        try records.testify(vault)
        return UnlockedVault(vault: vault, keys: vault.keys.opened)
    }

    private func unlockVault(_ password: SecretBytes, _ call: CallContext) throws(TokenKeepError) -> UnlockedVault {
        records.opener.residentKeys.dropKeysOfLostVaults()
        guard let vault = try records.open() else { throw VaultPasswords.noPassword }
        try records.testify(vault)
        let passwords = VaultPasswords(records.opener)
        let unlocked = try passwords.open(.password, with: password, vault, call)
        try passwords.keep(unlocked)
        // Watchers see items now that were hidden.
        records.announceChange()
        return unlocked
    }

    /// Seals items anew that modules of the stack hold under older keys.
    var resealing: Resealing { Resealing(records: records, reconciler: reconciler) }

    /// Locks the vault for every process of the user.
    ///
    /// - Returns: why it is locked for this program alone, if the kernel's keyring cannot be reached; nil if it is locked for
    ///   all.
    /// - Throws: ``Status/unsupported`` if it has no password, ``Status/io`` if a key is left.
    @discardableResult
    public func lock(_ locking: Locking = .all) throws(TokenKeepError) -> String? {
        _ = try begin(.any)
        let keys = records.opener.residentKeys
        keys.dropKeysOfLostVaults()
        guard let vaultID = try records.opener.vaultID() else { throw VaultPasswords.noPassword }
        // Before the header is looked at: resident keys go, whatever it is like.
        let reason = try keys.purge(locking == .all ? nil : .level(.whenUnlocked), of: vaultID)
        guard try records.open()?.keys.header.hasPassword == true else { throw VaultPasswords.noPassword }
        return reason
    }

    /// What is really achieved for a level with flags, in this stack and on this machine, as it is now.
    ///
    /// - Throws: ``Status/unsupported`` for a level that cannot be had.
    public func protection(of level: AccessLevel, _ flags: ItemFlags = []) throws(TokenKeepError) -> Protection {
        _ = try begin(.save)
        try LevelPolicy.check(level)
        if level == .memoryOnly, let protection = dispatcher.memory.protection(of: level, flags) { return protection }
        _ = records.opener.residentKeys.probe()
        _ = try records.exists()  // what is wrong with it is no protection
        return ProtectionRequirements(dispatcher: dispatcher, sealer: VaultSealer(records)).protection(of: level, flags)
    }

    /// How often the user may answer wrongly.
    private static let attempts: UInt32 = 3

    /// Runs what may meet a locked vault; asks for its password where prompts are allowed, and runs it again.
    func unlocking<Result>(
        _ call: CallContext, for name: ItemName, _ body: (CallContext) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        do throws(TokenKeepError) {
            return try body(call)
        } catch {
            guard error.status == .locked, error.module == "vault", call.promptsAllowed, prompt != nil else {
                throw error
            }
        }
        return try body(call.granting(try askForPassword(for: name, call)))
    }

    private func askForPassword(for name: ItemName, _ call: CallContext) throws(TokenKeepError) -> PresenceGrant {
        var attempt: UInt32 = 1
        while true {
            guard let prompt, !call.deadline.hasPassed else {
                throw TokenKeepError(.timedOut, "the deadline passed while the password was asked for", module: "vault")
            }
            let message = "password of the vault, for \(name)"
            let answer = try prompt(Prompt(kind: .password, attempt: attempt, message: message, item: name))
            do throws(TokenKeepError) {
                return try unlockVault(answer, call).presence
            } catch {
                guard error.status == .denied, attempt < Store.attempts else { throw error }
                attempt += 1
            }
        }
    }
}
