public import TokenKeepCore
public import TokenKeepKeys
public import TokenKeepRecords

/// What an unlock came to.
public struct UnlockOutcome: Sendable {
    /// Why the keys are in this store's memory alone; nil where every process of the user has them.
    public let reasonForMemory: String?
    /// What keeps an interrupted change of keys from being finished; the vault is unlocked all the same.
    public var problem: TokenKeepError?
    /// How many records an interrupted change of keys met that no key opens: they stay as they are.
    public var unreadable = 0
}

extension Store {
    /// Unlocks the vault with its password, for every process of the user; where the kernel's keyring cannot be used, for
    /// this store alone. What an interrupted change of keys left is done as far as the time allows.
    ///
    /// - Throws: ``Status/denied`` for a wrong password, ``Status/unsupported`` where the vault has none.
    @discardableResult
    public func unlock(
        _ password: SecretBytes, until deadline: Deadline? = nil, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try begin(.any, until: deadline)
        let unlocking = try records.unlock(password)
        var outcome = UnlockOutcome(reasonForMemory: unlocking.reasonForMemory)
        guard unlocking.isRekeying else { return outcome }
        do throws(TokenKeepError) {
            outcome.unreadable = try records.finishRekeying(unlocking, call, progress: progress)
        } catch {
            outcome.problem = error
        }
        return outcome
    }

    /// Locks the vault for every process of the user.
    ///
    /// - Returns: why it is locked for this program alone, where the kernel's keyring cannot be reached; nil where it is
    ///   locked for all.
    /// - Throws: ``Status/unsupported`` where it has no password, ``Status/io`` where a key is left.
    @discardableResult
    public func lock(_ locking: Vault.Locking = .all) throws(TokenKeepError) -> String? {
        _ = try begin(.any)
        return try records.lock(locking)
    }

    /// Lets `body` change the vault's passwords; every call may take as long as it needs. What the vault sealed for modules of
    /// the stack is within reach meanwhile. Watches look again afterwards.
    public func withVaultForPasswords<Result>(
        _ body: (Vault, CallContext) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let call = try begin(.any, until: Deadline(milliseconds: .max))
        // It may unlock the vault, or take its lock away: who watches sees items then that were hidden.
        defer { records.announceChange() }
        return try body(vault, call.withoutPrompts)
    }

    /// What is really achieved for a level with flags, in this stack and on this machine, as it is now.
    ///
    /// - Throws: ``Status/unsupported`` for a level that cannot be had.
    public func protection(of level: AccessLevel, _ flags: ItemFlags = []) throws(TokenKeepError) -> Protection {
        _ = try begin(.save)
        try LevelPolicy.check(level)
        if level == .memoryOnly, let protection = dispatcher.memory.protection(of: level, flags) { return protection }
        records.probeKeyring()
        _ = try records.exists()  // what is wrong with it is no protection
        return ProtectionRequirements(dispatcher: dispatcher).protection(of: level, flags)
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
                return try records.unlock(answer).presence
            } catch {
                guard error.status == .denied, attempt < Store.attempts else { throw error }
                attempt += 1
            }
        }
    }
}
