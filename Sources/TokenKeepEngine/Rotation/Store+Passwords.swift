public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
    /// Gives the vault its first password. Every key that the keyfile ever opened is replaced: a backup from before opens
    /// nothing that is saved later. The vault is unlocked then.
    ///
    /// - Throws: ``Status/invalid`` if it has one already.
    public func setPassword(
        _ password: SecretBytes, isDroppingUnknownSlots: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        try PasswordDerivation.check(password)
        let vault = try records.openOrMake(call)
        guard !vault.keys.header.hasPassword else {
            throw TokenKeepError(
                .invalid, "the vault has a password already", module: "vault", hint: "tokenkeep password change")
        }
        try checkUnknownSlots(vault, isDroppingUnknownSlots)
        let opener = try passwordOpener(password, call)
        let keyfile = UnlockedVault(vault: vault, keys: vault.keys.opened)
        let (after, unreadable) = try rotation(call, progress).run(keyfile, with: opener)
        return try finish(after, unreadable: unreadable, done: "the password is set", call, progress)
    }

    /// Replaces the password. The vault is unlocked then.
    ///
    /// - Parameter isCompromised: whether somebody else may know the old one: every key that it ever opened is replaced, and
    ///   the recovery code ends. This works although the header was altered without the password.
    /// - Throws: ``Status/denied`` if the old password is wrong, ``Status/unsupported`` if there is none.
    public func changePassword(
        from old: SecretBytes, to new: SecretBytes, isCompromised: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        try PasswordDerivation.check(new)
        let passwords = VaultPasswords(records.opener)
        guard isCompromised else {
            let unlocked = try passwords.open(.password, with: old, vaultWithPassword(), call)
            let changed = try passwords.change(unlocked, to: new, call)
            return try finish(changed, call, progress)
        }
        guard let vault = try records.opener.openForRotation() else { throw VaultPasswords.noPassword }
        try records.testify(vault)
        try checkUnknownSlots(vault, isDroppingUnknownSlots)
        let unlocked = try passwords.openUnchecked(with: old, vault, call)
        let opener = try passwordOpener(new, call)
        // Readers need the old keys until the new era is in force. The header was not verified, and is not trusted.
        try records.opener.residentKeys.keep(unlocked.keys, nil, of: vault.keys.vaultID)
        let (after, unreadable) = try rotation(call, progress).run(unlocked, with: opener)
        return try finish(after, unreadable: unreadable, done: "the password is changed", call, progress)
    }

    /// Takes the password away: the keyfile opens everything again, under new keys.
    ///
    /// - Parameter isDestroying: whether items that cannot be kept without a password are destroyed.
    /// - Throws: ``Status/policy`` if there are such items.
    public func removePassword(
        _ password: SecretBytes, isDestroying: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        let passwords = VaultPasswords(records.opener)
        let unlocked = try passwords.open(.password, with: password, vaultWithPassword(), call)
        try checkUnknownSlots(unlocked.vault, isDroppingUnknownSlots)
        let protected = ProtectedItems(store: self, unlocked: unlocked)
        if !isDestroying { try protected.refuse() }
        try passwords.keep(unlocked)
        if isDestroying { try protected.destroy(call) }
        let (after, unreadable) = try rotation(call, progress).run(unlocked, with: .keyfile) {
            (_) throws(TokenKeepError) in try protected.refuse()
        }
        var outcome = try finish(after, unreadable: unreadable, done: "the password is removed", call, progress)
        outcome.reasonForMemory = nil
        return outcome
    }

    /// Makes a recovery code, in place of an earlier one. It is shown once, and opens no item that asks at each use.
    public func createRecoveryCode(password: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let call = try beginPasswordChange()
        let passwords = VaultPasswords(records.opener)
        let unlocked = try passwords.open(.password, with: password, vaultWithPassword(), call)
        return try passwords.createRecoveryCode(unlocked, call)
    }

    /// Gives the vault another password, by its recovery code, which stays good. Items that ask at each use are lost. The vault
    /// is unlocked then.
    public func recover(code: SecretBytes, newPassword: SecretBytes) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        guard let vault = try records.open() else { throw VaultPasswords.noRecoveryCode }
        try records.testify(vault)
        let recovered = try VaultPasswords(records.opener)
            .recover(vault, code: code, newPassword: newPassword, call)
        return try finish(recovered, call, nil)
    }

    // MARK: Parts

    private func beginPasswordChange() throws(TokenKeepError) -> CallContext {
        try begin(.any, until: Deadline(milliseconds: .max)).withoutPrompts
    }

    private func vaultWithPassword() throws(TokenKeepError) -> OpenVault {
        guard let vault = try records.open() else { throw VaultPasswords.noPassword }
        try records.testify(vault)
        return vault
    }

    private func rotation(_ call: CallContext, _ progress: JournalProgress?) -> KeyRotation {
        KeyRotation(records: records, resealing: resealing, call: call, progress: progress)
    }

    private func passwordOpener(
        _ password: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> EraKeys.Opener {
        let derivation = PasswordDerivation.new(records.opener.costs)
        return .password(try PasswordDerivation.key(of: password, by: derivation, call), derivation)
    }

    /// New keys are not wrapped by slots of types that this version does not know: dropping them needs the user's word.
    private func checkUnknownSlots(_ vault: OpenVault, _ isDropping: Bool) throws(TokenKeepError) {
        let types = vault.keys.header.unknownTypes
        guard !types.isEmpty, !isDropping else { return }
        let named = types.map(String.init).joined(separator: ", ")
        throw TokenKeepError(
            .policy, "the vault has slots of types that this version does not know (\(named)): new keys end them",
            module: "vault", hint: "end them: --drop-unknown-slots; or use the version of TokenKeep that made them")
    }

    /// Unlocks with the new keys, and seals anew what modules hold under older ones.
    ///
    /// - Parameter done: the change, for the error if not every item could be sealed under new keys; nil if the keys stayed: then
    ///   that is a problem of the outcome, as of an unlock's.
    private func finish(
        _ unlocked: UnlockedVault, unreadable: Int = 0, done: String? = nil, _ call: CallContext,
        _ progress: JournalProgress?
    ) throws(TokenKeepError) -> UnlockOutcome {
        // It may have unlocked the vault: watchers see items now that were hidden.
        defer { records.announceChange() }
        if unlocked.vault.keys.header.hasPassword { try VaultPasswords(records.opener).keep(unlocked) }
        var outcome = UnlockOutcome(reasonForMemory: records.opener.residentKeys.reasonForMemory)
        outcome.unreadable = unreadable
        guard unlocked.vault.keys.header.hasRetiringKeys else { return outcome }
        do throws(TokenKeepError) {
            outcome.unreadable += try resealing.run(unlocked, call, progress: progress).unreadable
        } catch {
            guard let done else {
                outcome.problem = error
                return outcome
            }
            throw TokenKeepError(
                error.status, "\(done), but not every item is sealed under the new keys: \(error.message)",
                module: "vault", hint: error.hint ?? "tokenkeep unlock goes on")
        }
        return outcome
    }
}
