public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
    /// Gives the vault its first password and unlocks the vault.
    ///
    /// Replaces every key that the keyfile ever opened. An earlier backup then opens no item that is saved later.
    ///
    /// - Throws: ``Status/invalid`` if the vault already has a password.
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
        let keyfile = try UnlockedVault(withoutPassword: vault)
        let (after, unreadable) = try rotation(call, progress).run(keyfile, with: opener)
        return try finish(after, unreadable: unreadable, done: "the password is set", call, progress)
    }

    /// Replaces the password and unlocks the vault.
    ///
    /// - Parameter isCompromised: whether another person may know the old password. If true, the change replaces every
    ///   key that the old password ever opened, drops the recovery code, and works even after an unauthorized change of
    ///   the header.
    /// - Throws: ``Status/denied`` if the old password is wrong, ``Status/unsupported`` if the vault has no password.
    public func changePassword(
        from old: SecretBytes, to new: SecretBytes, isCompromised: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        try PasswordDerivation.check(new)
        let passwords = PasswordSlots(records.opener)
        guard isCompromised else {
            let unlocked = try passwords.open(.password, with: old, vault(orThrow: PasswordSlots.noPassword), call)
            let changed = try passwords.change(unlocked, to: new, call)
            return try finish(changed, call, progress)
        }
        guard let vault = try records.opener.openForRotation() else { throw PasswordSlots.noPassword }
        try records.testify(vault)
        guard vault.keys.header.hasPassword else {
            // `open()` throws if somebody put a header without a password in place of the vault's header.
            _ = try records.open()
            throw PasswordSlots.noPassword
        }
        try checkUnknownSlots(vault, isDroppingUnknownSlots)
        let unlocked = try passwords.openUnchecked(with: old, vault, call)
        let opener = try passwordOpener(new, call)
        // Keep the old keys for readers until the new keys are in force. Do not mark the unverified header as trusted.
        try records.opener.residentKeys.keep(unlocked.keys, nil, of: vault.keys.vaultID)
        let (after, unreadable) = try rotation(call, progress).run(unlocked, with: opener)
        return try finish(after, unreadable: unreadable, done: "the password is changed", call, progress)
    }

    /// Removes the password. The keyfile then opens every item, under new keys.
    ///
    /// The key of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly`` ends. If its secret lies in an index of the TPM,
    /// the secret is destroyed just before the new keys are in force, so that no older header opens the level.
    ///
    /// - Parameter isDestroying: whether items whose protection requires a password are destroyed.
    /// - Throws: ``Status/policy`` if items require the password and must not be destroyed.
    public func removePassword(
        _ password: SecretBytes, isDestroying: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        let passwords = PasswordSlots(records.opener)
        let opened = try passwords.open(.password, with: password, vault(orThrow: PasswordSlots.noPassword), call)
        // An interrupted removal has destroyed the secret of the level that goes.
        let unlocked = opened.acceptingLostIndex
        try checkUnknownSlots(unlocked.vault, isDroppingUnknownSlots)
        let protected = ProtectedItems(store: self, unlocked: unlocked)
        try unlocked.checkDevice()
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

    /// Makes a recovery code, which replaces an earlier code.
    ///
    /// The code can be read only from the result. The code does not open items that need the password at each use.
    public func createRecoveryCode(password: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let call = try beginPasswordChange()
        let passwords = PasswordSlots(records.opener)
        let unlocked = try passwords.open(.password, with: password, vault(orThrow: PasswordSlots.noPassword), call)
        return try passwords.createRecoveryCode(unlocked, call)
    }

    /// Sets a new password with the recovery code, and unlocks the vault.
    ///
    /// The recovery code stays valid. Items that need the password at each use are lost, and so are items of the level
    /// ``AccessLevel/whenPasscodeSetThisDeviceOnly``.
    ///
    /// - Parameter isDestroying: whether items that only an unavailable device opens are destroyed. The vault is then
    ///   no longer bound to a device.
    /// - Throws: ``Status/denied`` if the code is wrong, ``Status/unavailable`` if the vault's device does not answer.
    public func recover(
        code: SecretBytes, newPassword: SecretBytes, isDestroying: Bool = false
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try beginPasswordChange()
        try PasswordDerivation.check(newPassword)
        let passwords = PasswordSlots(records.opener)
        let recovered = try passwords.open(
            .recovery, with: try RecoveryCode.normalized(code), vault(orThrow: PasswordSlots.noRecoveryCode), call)
        guard let fault = recovered.deviceFault else {
            return try finish(try passwords.recover(recovered, newPassword: newPassword, call), call, nil)
        }
        guard isDestroying else {
            throw TokenKeepError(
                fault.error.status, fault.error.message, module: "vault",
                hint: "if that device is gone for good: tokenkeep recovery use --destroy-items")
        }
        let items = ProtectedItems(store: self, unlocked: recovered, loss: .device)
        try items.destroy(call)
        let changed = try passwords.recover(recovered, newPassword: newPassword, isUnbinding: true, call) {
            () throws(TokenKeepError) in try items.refuse()
        }
        return try finish(changed, call, nil)
    }

    // MARK: Parts of changes

    func beginPasswordChange() throws(TokenKeepError) -> CallContext {
        try begin(.any, until: Deadline(milliseconds: .max)).withoutPrompts
    }

    /// Opens the vault, and checks that its header (the file of wrapped keys) fits its records.
    ///
    /// - Parameter absence: the error thrown if there is no vault.
    func vault(orThrow absence: TokenKeepError) throws(TokenKeepError) -> OpenVault {
        guard let vault = try records.open() else { throw absence }
        try records.testify(vault)
        return vault
    }

    func rotation(_ call: CallContext, _ progress: JournalProgress?) -> KeyRotation {
        KeyRotation(records: records, resealing: resealing, call: call, progress: progress)
    }

    func passwordOpener(
        _ password: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> EraKeys.Opener {
        let derivation = PasswordDerivation.new(records.opener.costs)
        return .password(try PasswordDerivation.key(of: password, by: derivation, call), derivation)
    }

    /// Throws if the header has slots (ways to open keys) of unknown types, unless `isDropping`.
    ///
    /// This version cannot put new keys into a slot of an unknown type, so the slot would be lost.
    private func checkUnknownSlots(_ vault: OpenVault, _ isDropping: Bool) throws(TokenKeepError) {
        let types = vault.keys.header.unknownTypes
        guard !types.isEmpty, !isDropping else { return }
        let named = types.map(String.init).joined(separator: ", ")
        throw TokenKeepError(
            .policy, "the vault has slots of types that this version does not know (\(named)): new keys end them",
            module: "vault", hint: "end them: --drop-unknown-slots; or use the version of TokenKeep that made them")
    }

    /// Unlocks the vault with its new keys, and re-encrypts items in other modules that are under older keys.
    ///
    /// - Parameter done: the completed change, named in the error if an item could not be re-encrypted. nil if the
    ///   keys did not change: the outcome's problem is then that error, as after an unlock.
    func finish(
        _ unlocked: UnlockedVault, unreadable: Int = 0, done: String? = nil, _ call: CallContext,
        _ progress: JournalProgress?
    ) throws(TokenKeepError) -> UnlockOutcome {
        // Notify watchers: if the vault is unlocked now, they see items that were hidden.
        defer { records.announceChange() }
        LoginNote.remove(records)
        if unlocked.vault.keys.header.hasPassword { try PasswordSlots(records.opener).keep(unlocked) }
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
