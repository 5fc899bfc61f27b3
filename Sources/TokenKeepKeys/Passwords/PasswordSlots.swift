package import TokenKeepCore

/// A vault with the keys that a password, a recovery code or the keyfile opened.
package struct UnlockedVault: Sendable {
    package let vault: OpenVault
    /// All keys of the opened header slot.
    ///
    /// They include the header key and the keys for items that need the password at each use.
    package let keys: [OpenKey]

    /// - Parameter keys: the keys that a password opened; empty if the vault has no password.
    package init(vault: OpenVault, keys: [OpenKey]) {
        self.vault = vault
        self.keys = keys
    }

    /// The keys for items that need the password at each use, the current key first. Only for the call that asked the
    /// user.
    package var presence: PresenceGrant {
        let keys = keys.filter { $0.purpose == .presence }
        return PresenceGrant(keys: (keys.filter { !$0.isRetiring } + keys.filter(\.isRetiring)).map(\.bytes))
    }

    /// The key that verifies the header's authentication code (MAC B).
    package func headerKey() throws(TokenKeepError) -> SecretBytes {
        guard let key = keys.first(where: { $0.purpose == .header }) else {
            throw TokenKeepError(.internal, "a slot without a header key", module: "vault")
        }
        return key.bytes
    }
}

/// Unlocks a vault, and changes its password and its recovery code. The keys of items stay the same.
package struct PasswordSlots {
    private let opener: VaultOpener
    private let writer: HeaderWriter

    package init(_ opener: VaultOpener) {
        self.opener = opener
        writer = HeaderWriter(opener)
    }

    /// Opens all keys with the password or the recovery code, after a check that nobody without them altered the
    /// header.
    ///
    /// - Throws: ``Status/denied`` if the password or code is wrong, ``Status/unsupported`` if the vault has none,
    ///   ``Status/corrupt`` if somebody without the password altered the header.
    package func open(
        _ type: KnownSlot.SlotType, with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try open(type, password, vault, call) { slot, derived throws(FormatFault) in
            try slot.open(with: derived, of: vault.keys.header, vault.headerFile)
        }
    }

    /// Opens all keys with the password, even if somebody without the password may have altered the header.
    ///
    /// Only for a replacement of all keys. It takes nothing but these keys from the header, and then replaces the
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
    /// - Parameter limit: the seconds after which the keys expire; nil for the usual times.
    /// - Returns: the reason why only this process has the keys; nil if every process has them.
    @discardableResult
    package func keep(_ unlocked: UnlockedVault, expiringAfter limit: UInt32? = nil) throws(TokenKeepError) -> String? {
        let vault = unlocked.vault
        let entry = HeaderTrust.Entry(
            vault.keys.header, file: vault.headerFile, headerKey: try unlocked.headerKey())
        try opener.residentKeys.keep(
            unlocked.keys, HeaderTrust(entries: [entry], path: try opener.path()), of: vault.keys.vaultID,
            expiringAfter: limit)
        return opener.residentKeys.reasonForMemory
    }

    /// Replaces the password. The keys of items stay the same.
    ///
    /// - Parameter limit: the seconds after which the kept keys expire; nil for the usual times.
    package func change(
        _ unlocked: UnlockedVault, to password: SecretBytes, _ call: CallContext, expiringAfter limit: UInt32? = nil
    ) throws(TokenKeepError) -> UnlockedVault {
        let slot = try passwordSlot(unlocked.keys, password, unlocked.vault, call)
        let kept = unlocked.vault.keys.header.slots(without: [.password])
        return try replace(unlocked, slots: kept + [slot], call, expiringAfter: limit)
    }

    /// Makes a recovery code, which replaces an earlier one. It does not open items that need the password at each use.
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

    /// Sets a new password with the recovery code, which stays valid.
    ///
    /// Items that need the password at each use are lost.
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

    /// Removes the retiring (replaced) keys from the header, once no module holds an item encrypted under them.
    ///
    /// - Parameter check: called under the lock of the whole vault, before anything is written; may throw.
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
        _ unlocked: UnlockedVault, slots: [Slot], _ call: CallContext, expiringAfter limit: UInt32? = nil,
        check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let vault = try writer.replace(
            of: unlocked.vault, slots: slots, headerKey: try unlocked.headerKey(), keeping: unlocked.keys, call,
            expiringAfter: limit, check: check)
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
