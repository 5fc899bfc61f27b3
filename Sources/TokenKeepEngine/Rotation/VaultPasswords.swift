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
    /// Replaces every key that the keyfile has ever opened, so that an earlier backup opens no item that is saved
    /// later.
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
    /// - Parameter isCompromised: whether another person may know the old password. If true, every key that the old
    ///   password has ever opened is replaced, the recovery code is removed, and the change works even if the header
    ///   was altered.
    /// - Throws: ``Status/denied`` if the old password is wrong; ``Status/unsupported`` if the vault has no password.
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
            // If somebody has replaced the vault's header by a header without a password, this call throws the more
            // specific error.
            _ = try records.open()
            throw PasswordSlots.noPassword
        }
        try checkUnknownSlots(vault, isDroppingUnknownSlots)
        let unlocked = try passwords.openUnchecked(with: old, vault, call)
        let opener = try keyChange.passwordOpener(new, call)
        // The old keys stay available to readers until the new keys are in force. The headers that were verified
        // earlier stay as they are (nil), because this header was not verified.
        try records.opener.residentKeys.keep(unlocked.keys, nil, of: vault.keys.vaultID)
        let (after, unreadable) = try keyChange.rotation(call, progress).run(unlocked, with: opener)
        return try keyChange.finish(after, unreadable: unreadable, done: "the password is changed", call, progress)
    }

    /// Removes the password. The keyfile then opens every item, under new keys.
    ///
    /// The key of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly`` becomes unusable. If the key's secret is in
    /// an index of the TPM, the secret is destroyed just before the new keys come into force, so that no older header
    /// opens the level.
    ///
    /// - Parameter isDestroying: whether to destroy items whose protection requires a password.
    /// - Throws: ``Status/policy`` if items require the password and `isDestroying` is false.
    public func remove(
        _ password: SecretBytes, isDestroying: Bool, isDroppingUnknownSlots: Bool = false,
        progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> UnlockOutcome {
        let call = try keyChange.begin()
        let passwords = PasswordSlots(records.opener)
        let opened = try passwords.open(
            .password, with: password, keyChange.vault(orThrow: PasswordSlots.noPassword), call)
        // An earlier, interrupted removal may have destroyed the secret of the level that the password's removal ends,
        // so the loss is no error here.
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

    /// Creates a recovery code, which replaces an earlier code.
    ///
    /// Only the result contains the code. It does not open items that need the password at each use.
    ///
    /// - Throws: ``Status/denied`` if the password is wrong; ``Status/unsupported`` if the vault has no password.
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
    /// - Parameter isDestroying: whether to destroy items that only an unavailable device opens. The vault is then
    ///   bound to no device.
    /// - Throws: ``Status/denied`` if the code is wrong; ``Status/unavailable`` if the vault's device does not answer.
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

    /// Throws ``Status/policy`` if the header has slots (ways to open keys) of unknown types, unless `isDropping`.
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
