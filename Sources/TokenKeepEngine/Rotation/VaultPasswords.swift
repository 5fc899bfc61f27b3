public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The password and the recovery code of a store's vault.
public struct VaultPasswords: Sendable {
    let store: Store
    private var records: Records { store.records }
    private var keyChange: KeyChange { KeyChange(store: store) }

    /// Gives the vault its first password and unlocks the vault.
    ///
    /// Replaces every key that the keyfile ever opened. An earlier backup then opens no item that is saved later.
    ///
    /// - Throws: ``Status/invalid`` if the vault already has a password.
    public func set(
        _ password: SecretBytes, isDroppingUnknownSlots: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try keyChange.begin()
        try PasswordDerivation.check(password)
        let vault = try records.openOrMake(call)
        guard !vault.keys.header.hasPassword else {
            throw TokenKeepError(
                .invalid, "the vault has a password already", module: "vault", hint: "tokenkeep password change")
        }
        try checkUnknownSlots(vault, isDroppingUnknownSlots)
        let opener = try keyChange.passwordOpener(password, call)
        let keyfile = try UnlockedVault(withoutPassword: vault)
        let (after, unreadable) = try keyChange.rotation(call, progress).run(keyfile, with: opener)
        return try keyChange.finish(after, unreadable: unreadable, done: "the password is set", call, progress)
    }

    /// Replaces the password and unlocks the vault.
    ///
    /// - Parameter isCompromised: whether another person may know the old password. If true, the change replaces every
    ///   key that the old password ever opened, drops the recovery code, and works even after an unauthorized change of
    ///   the header.
    /// - Throws: ``Status/denied`` if the old password is wrong, ``Status/unsupported`` if the vault has no password.
    public func change(
        from old: SecretBytes, to new: SecretBytes, isCompromised: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try keyChange.begin()
        try PasswordDerivation.check(new)
        let passwords = PasswordSlots(records.opener)
        guard isCompromised else {
            let unlocked = try passwords.open(
                .password, with: old, keyChange.vault(orThrow: PasswordSlots.noPassword), call)
            let changed = try passwords.change(unlocked, to: new, call)
            return try keyChange.finish(changed, call, progress)
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
        let opener = try keyChange.passwordOpener(new, call)
        // Keep the old keys for readers until the new keys are in force. Do not mark the unverified header as trusted.
        try records.opener.residentKeys.keep(unlocked.keys, nil, of: vault.keys.vaultID)
        let (after, unreadable) = try keyChange.rotation(call, progress).run(unlocked, with: opener)
        return try keyChange.finish(after, unreadable: unreadable, done: "the password is changed", call, progress)
    }

    /// Removes the password. The keyfile then opens every item, under new keys.
    ///
    /// The key of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly`` ends. If its secret lies in an index of the TPM,
    /// the secret is destroyed just before the new keys are in force, so that no older header opens the level.
    ///
    /// - Parameter isDestroying: whether items whose protection requires a password are destroyed.
    /// - Throws: ``Status/policy`` if items require the password and must not be destroyed.
    public func remove(
        _ password: SecretBytes, isDestroying: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try keyChange.begin()
        let passwords = PasswordSlots(records.opener)
        let opened = try passwords.open(
            .password, with: password, keyChange.vault(orThrow: PasswordSlots.noPassword), call)
        // An interrupted removal has destroyed the secret of the level that goes.
        let unlocked = opened.acceptingLostIndex
        try checkUnknownSlots(unlocked.vault, isDroppingUnknownSlots)
        let protected = ProtectedItems(store: store, unlocked: unlocked)
        try unlocked.checkDevice()
        if !isDestroying { try protected.refuse() }
        try passwords.keep(unlocked, call)
        if isDestroying { try protected.destroy(call) }
        let (after, unreadable) = try keyChange.rotation(call, progress).run(unlocked, with: .keyfile) {
            (_) throws(TokenKeepError) in try protected.refuse()
        }
        var outcome = try keyChange.finish(
            after, unreadable: unreadable, done: "the password is removed", call, progress)
        outcome.reasonForMemory = nil
        return outcome
    }

    /// Makes a recovery code, which replaces an earlier code.
    ///
    /// The code can be read only from the result. The code does not open items that need the password at each use.
    ///
    /// - Throws: ``Status/denied`` if the password is wrong, ``Status/unsupported`` if the vault has no password.
    public func createRecoveryCode(password: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let call = try keyChange.begin()
        let passwords = PasswordSlots(records.opener)
        let unlocked = try passwords.open(
            .password, with: password, keyChange.vault(orThrow: PasswordSlots.noPassword), call)
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
        let call = try keyChange.begin()
        try PasswordDerivation.check(newPassword)
        let passwords = PasswordSlots(records.opener)
        let recovered = try passwords.open(
            .recovery, with: try RecoveryCode.normalized(code), keyChange.vault(orThrow: PasswordSlots.noRecoveryCode),
            call)
        guard let fault = recovered.deviceFault else {
            return try keyChange.finish(try passwords.recover(recovered, newPassword: newPassword, call), call, nil)
        }
        guard isDestroying else {
            throw TokenKeepError(
                fault.error.status, fault.error.message, module: "vault",
                hint: "if that device is gone for good: tokenkeep recovery use --destroy-items")
        }
        let items = ProtectedItems(store: store, unlocked: recovered, loss: .device)
        try items.destroy(call)
        let changed = try passwords.recover(recovered, newPassword: newPassword, isUnbinding: true, call) {
            () throws(TokenKeepError) in try items.refuse()
        }
        return try keyChange.finish(changed, call, nil)
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
}
