package import TokenKeepCore

/// A vault that a password or a recovery code opened.
package struct UnlockedVault: Sendable {
    package let vault: OpenVault
    /// Every key of the slot, including presence and header key.
    package let keys: [OpenKey]

    /// - Parameter keys: the keys that a password opened; empty without a password.
    package init(vault: OpenVault, keys: [OpenKey]) {
        self.vault = vault
        self.keys = keys
    }

    /// The keys of items that ask for the password at each use, the current key first. Only the call that asked gets them.
    package var presence: PresenceGrant {
        let keys = keys.filter { $0.purpose == .presence }
        return PresenceGrant(keys: (keys.filter { !$0.isRetiring } + keys.filter(\.isRetiring)).map(\.bytes))
    }

    /// The key that verified the header.
    package func headerKey() throws(TokenKeepError) -> SecretBytes {
        guard let key = keys.first(where: { $0.purpose == .header }) else {
            throw TokenKeepError(.internal, "a slot without a header key", module: "vault")
        }
        return key.bytes
    }
}

/// Unlocks a vault, and changes its password and its recovery code. The keys stay; new keys need a new era.
package struct PasswordSlots {
    private let opener: VaultOpener
    private let writer: HeaderWriter

    package init(_ opener: VaultOpener) {
        self.opener = opener
        writer = HeaderWriter(opener)
    }

    /// Opens the slot of the password or of the recovery code, after a check of MAC B.
    ///
    /// - Throws: ``Status/denied`` if the password is wrong, ``Status/unsupported`` if the header has no such slot,
    ///   ``Status/corrupt`` if the header was altered without the password.
    package func open(
        _ type: KnownSlot.SlotType, with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try open(type, password, vault, call) { slot, derived throws(FormatFault) in
            try slot.open(with: derived, of: vault.keys.header, vault.headerFile)
        }
    }

    /// Opens the password's slot even if MAC B fails. Only for a change of all keys, which uses nothing else from the
    /// header.
    package func openUnchecked(
        with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try open(.password, password, vault, call) { slot, derived throws(FormatFault) in
            try slot.openUnchecked(with: derived, of: vault.keys.header)
        }
    }

    private func open(
        _ type: KnownSlot.SlotType, _ password: SecretBytes, _ vault: OpenVault, _ call: CallContext,
        _ body: (KnownSlot, DerivedKey) throws(FormatFault) -> [OpenKey]?
    ) throws(TokenKeepError) -> UnlockedVault {
        guard let slot = vault.keys.header.slot(type) else {
            throw type == .recovery ? PasswordSlots.noRecoveryCode : PasswordSlots.noPassword
        }
        let derived = try PasswordDerivation.key(of: password, by: slot.derivation, call)
        let keys: [OpenKey]?
        do throws(FormatFault) {
            keys = try body(slot, derived)
        } catch {
            throw error.error(in: "header")
        }
        guard let keys else {
            throw TokenKeepError(
                .denied, type == .recovery ? "the recovery code is wrong" : "the password is wrong", module: "vault")
        }
        return UnlockedVault(vault: vault.adding(keys), keys: keys)
    }

    /// Keeps the open keys and the verified header for every process of the user.
    ///
    /// - Returns: the reason why the keys are in this process's memory alone; nil if every process has them.
    @discardableResult
    package func keep(_ unlocked: UnlockedVault) throws(TokenKeepError) -> String? {
        let vault = unlocked.vault
        let entry = HeaderTrust.Entry(
            vault.keys.header, file: vault.headerFile, headerKey: try unlocked.headerKey())
        try opener.residentKeys.keep(
            unlocked.keys, HeaderTrust(entries: [entry], path: try opener.path()), of: vault.keys.vaultID)
        return opener.residentKeys.reasonForMemory
    }

    /// Replaces the password. The keys stay the same.
    package func change(
        _ unlocked: UnlockedVault, to password: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        let slot = try passwordSlot(unlocked.keys, password, unlocked.vault, call)
        return try replace(unlocked, slots: unlocked.vault.keys.header.slots(without: [.password]) + [slot], call)
    }

    /// Makes a recovery code, which replaces an earlier code. The code opens every key but the presence key.
    package func createRecoveryCode(
        _ unlocked: UnlockedVault, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        let code = try RecoveryCode.make()
        let derivation = PasswordDerivation.new(opener.costs)
        let derived = try PasswordDerivation.key(of: try RecoveryCode.normalized(code), by: derivation, call)
        let header = unlocked.vault.keys.header
        let slot = KnownSlot.wrapping(
            unlocked.keys.filter { $0.purpose != .presence }, type: .recovery, derivation: derivation, with: derived,
            vaultID: header.vaultID, era: header.era)
        _ = try replace(unlocked, slots: header.slots(without: [.recovery]) + [.known(slot)], call)
        return code
    }

    /// Sets a new password with the recovery code. The code stays valid. Items that ask at each use are lost.
    package func recover(
        _ vault: OpenVault, code: SecretBytes, newPassword: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try PasswordDerivation.check(newPassword)
        let recovered = try open(.recovery, with: try RecoveryCode.normalized(code), vault, call)
        let keys = recovered.keys + [try OpenKey.make(.presence)]
        let slot = try passwordSlot(keys, newPassword, vault, call)
        let unlocked = UnlockedVault(vault: vault.adding(keys), keys: keys)
        let kept = vault.keys.header.slots(without: [.password])
        return try replace(unlocked, slots: kept + [slot], call)
    }

    /// Removes retiring keys from every slot. Call this once no module holds an item sealed under them.
    ///
    /// - Parameter check: throws to refuse the change; runs under the lock of the whole vault.
    package func dropRetiringKeys(
        _ unlocked: UnlockedVault, _ call: CallContext, check: () throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> UnlockedVault {
        let slots = unlocked.vault.keys.header.slots.map { slot in
            guard case .known(let known) = slot else { return slot }
            return .known(known.withoutRetiringKeys)
        }
        let retiring = unlocked.keys.filter(\.isRetiring)
        let current = UnlockedVault(vault: unlocked.vault, keys: unlocked.keys.filter { !$0.isRetiring })
        let replaced = try replace(current, slots: slots, call, check: check)
        for key in retiring { opener.residentKeys.drop(key.id, for: key.purpose, of: replaced.vault.keys.vaultID) }
        return replaced
    }

    private func replace(
        _ unlocked: UnlockedVault, slots: [Slot], _ call: CallContext, check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let vault = try writer.replace(
            of: unlocked.vault, slots: slots, headerKey: try unlocked.headerKey(), keeping: unlocked.keys, call,
            check: check)
        return UnlockedVault(vault: vault.adding(unlocked.keys), keys: unlocked.keys)
    }

    private func passwordSlot(
        _ keys: [OpenKey], _ password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> Slot {
        try PasswordDerivation.check(password)
        let derivation = PasswordDerivation.new(opener.costs)
        return .known(
            .wrapping(
                keys, type: .password, derivation: derivation,
                with: try PasswordDerivation.key(of: password, by: derivation, call),
                vaultID: vault.keys.vaultID, era: vault.era.number))
    }

    package static let noPassword = TokenKeepError(
        .unsupported, "the vault has no password: there is nothing to lock or unlock", module: "vault",
        hint: "tokenkeep password set gives it one")
    package static let noRecoveryCode = TokenKeepError(
        .unsupported, "the vault has no recovery code", module: "vault",
        hint: "tokenkeep recovery create makes one, while the password is known")
}

extension KnownSlot {
    fileprivate var withoutRetiringKeys: KnownSlot {
        KnownSlot(
            type: type, id: id, derivation: derivation, createdAt: createdAt, commitment: commitment,
            keys: keys.filter { !$0.isRetiring }, extension: `extension`)
    }
}
