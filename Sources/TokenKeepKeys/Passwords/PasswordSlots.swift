package import TokenKeepCore

/// Unlocks a vault, and changes its password and its recovery code. Items keep their keys, and are not encrypted anew.
package struct PasswordSlots {
    /// Derives the key of a slot from a password.
    package typealias Derivation =
        @Sendable (
            SecretBytes, KeyDerivation, CallContext
        ) throws(TokenKeepError) -> DerivedKey

    private let opener: VaultOpener
    private let writer: HeaderWriter
    private let isAcceptingOlder: Bool
    private let derive: Derivation

    /// - Parameters:
    ///   - isAcceptingOlder: whether to accept a header that is older than the anchor in the TPM, and to put it in force.
    ///   - derive: the derivation of a slot's key.
    package init(
        _ opener: VaultOpener, isAcceptingOlder: Bool = false,
        derive: @escaping Derivation = { password, derivation, call throws(TokenKeepError) in
            try PasswordDerivation.key(of: password, by: derivation, call)
        }
    ) {
        self.opener = opener
        self.isAcceptingOlder = isAcceptingOlder
        self.derive = derive
        writer = HeaderWriter(opener)
    }

    /// Opens all keys with the password or the recovery code. Refuses a header that somebody without the password
    /// altered.
    ///
    /// If another process replaces the header meanwhile, the header in force is opened. If the copy `header` was
    /// altered, `header.2` is opened.
    ///
    /// - Throws: ``Status/denied`` if the password or code is wrong, ``Status/unsupported`` if the vault has no
    ///   password or code, ``Status/corrupt`` if somebody without the password altered the header.
    package func open(
        _ type: KnownSlot.SlotType, with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try rereading(vault, opener.copiesToUnlock) { (vault) throws(TokenKeepError) in
            try openOnce(type, with: password, vault, call)
        }
    }

    /// Opens all keys with the password, and keeps them and the verified header for every process of the user.
    ///
    /// Starts again if the header is replaced meanwhile, because no key may be kept for a header that is not in force.
    ///
    /// - Parameters:
    ///   - limit: the lifetime of the keys in seconds; nil for the usual lifetimes.
    ///   - check: called with each header before a key is derived; throws to refuse the header.
    /// - Throws: the errors of ``open(_:with:_:_:)``; ``Status/conflict`` if the header is replaced during every attempt.
    package func unlock(
        with password: SecretBytes, _ vault: OpenVault, _ call: CallContext, expiringAfter limit: UInt32? = nil,
        check: (OpenVault) throws(TokenKeepError) -> Void = { _ in }
    ) throws(TokenKeepError) -> UnlockedVault {
        try rereading(vault, opener.copiesToUnlock) { (vault) throws(TokenKeepError) in
            try check(vault)
            let unlocked = try openOnce(.password, with: password, vault, call)
            try keep(unlocked, call, expiringAfter: limit)
            return unlocked
        }
    }

    /// Opens all keys with the password, even if somebody without the password may have altered the header.
    ///
    /// Only a replacement of all keys may use this function. A replacement takes only these keys from the header, and
    /// then replaces the header.
    package func openUnchecked(
        with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        let present = { () throws(TokenKeepError) in try opener.openForRotation().map { [$0] } ?? [] }
        return try rereading(vault, present) { (vault) throws(TokenKeepError) in
            try openOnce(.password, password, vault, call) { slot, derived throws(FormatFault) in
                try slot.openUnchecked(with: derived, of: vault.keys.header)
            }
        }
    }

    /// The maximum number of attempts of one call. A new attempt is made only if another process has replaced the
    /// header.
    private static let attempts = 8

    /// Calls `body` with a vault. If `body` throws and another header is in force, calls `body` again with that header.
    ///
    /// - Parameter present: returns the copies of the header in force. If one copy was altered, the other copy is opened.
    private func rereading(
        _ vault: OpenVault, _ present: () throws(TokenKeepError) -> [OpenVault],
        _ body: (OpenVault) throws(TokenKeepError) -> UnlockedVault
    ) throws(TokenKeepError) -> UnlockedVault {
        var vault = vault
        var refused: [[UInt8]] = []
        for _ in 0..<PasswordSlots.attempts {
            do throws(TokenKeepError) {
                return try body(vault)
            } catch {
                if HeaderTrust.isRefusal(error) { refused.append(vault.headerFile) }
                guard let next = try present().first(where: { !refused.contains($0.headerFile) }),
                    next.headerFile != vault.headerFile
                else { throw error }
                vault = next
            }
        }
        throw VaultOpener.changedMeanwhile
    }

    private func openOnce(
        _ type: KnownSlot.SlotType, with password: SecretBytes, _ vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        try openOnce(type, password, vault, call) { slot, derived throws(FormatFault) in
            try slot.open(with: derived, of: vault.keys.header, vault.headerFile)
        }
    }

    private func openOnce(
        _ type: KnownSlot.SlotType, _ password: SecretBytes, _ vault: OpenVault, _ call: CallContext,
        _ body: (KnownSlot, DerivedKey) throws(FormatFault) -> [OpenKey]?
    ) throws(TokenKeepError) -> UnlockedVault {
        guard let slot = vault.keys.header.slot(type) else {
            throw type == .recovery ? PasswordSlots.noRecoveryCode : PasswordSlots.noPassword
        }
        let derived = try derive(password, slot.derivation, call)
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
        // One deadline limits all requests to the device.
        let deadline = Devices.deadline
        let ofDevice = try DeviceSlots(devices: opener.residentKeys.devices)
            .open(vault.keys.header, type, base: derived.wrapping, until: deadline)
        try opener.checkAnchor(of: vault, isAcceptingOlder: isAcceptingOlder, until: deadline)
        let all = keys + ofDevice.keys
        return UnlockedVault(vault: vault.adding(all), keys: all, deviceFault: ofDevice.fault)
    }

    /// Keeps the open keys and the verified header for every process of the user.
    ///
    /// - Parameter limit: the lifetime of the keys in seconds; nil for the usual lifetimes.
    /// - Returns: the reason why only this process has the keys; nil if every process has them.
    /// - Throws: ``Status/conflict`` if another header is in force.
    @discardableResult
    package func keep(
        _ unlocked: UnlockedVault, _ call: CallContext, expiringAfter limit: UInt32? = nil
    ) throws(TokenKeepError) -> String? {
        let vault = unlocked.vault
        let headerKey = try unlocked.headerKey()
        let entry = HeaderTrust.Entry(vault.keys.header, file: vault.headerFile, headerKey: headerKey)
        let trust = HeaderTrust(entries: [entry], path: try opener.path())
        try opener.whileInForce(vault, headerKey, call) { () throws(TokenKeepError) in
            try opener.residentKeys.keep(unlocked.keys, trust, of: vault.keys.vaultID, expiringAfter: limit)
        }
        return opener.residentKeys.reasonForMemory
    }

    /// Replaces the password. Items keep their keys, and are not encrypted anew.
    ///
    /// - Parameters:
    ///   - device: the device to which the vault is bound afterwards, with new keys for the levels that need a device;
    ///     nil to keep the present device and keys.
    ///   - limit: the lifetime of the kept keys in seconds; nil for the usual lifetimes.
    ///   - isLeftLocked: whether no key is kept for later calls, so that the vault stays locked.
    package func change(
        _ unlocked: UnlockedVault, to password: SecretBytes, binding device: DeviceIdentity? = nil, _ call: CallContext,
        expiringAfter limit: UInt32? = nil, isLeftLocked: Bool = false, check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let changed = try unlocked.binding(to: device)
        let bound = device ?? changed.vault.keys.header.device
        let slots = try passwordSlots(changed.keys, password, binding: bound, changed.vault, call)
        let kept = changed.vault.keys.header.slots(without: device == nil ? [.password] : [.password, .device])
        return try replace(
            changed, slots: kept + slots, call, keeping: isLeftLocked ? [] : changed.keys, expiringAfter: limit,
            check: check)
    }

    /// Makes a new key for the level whose secret the TPM has lost. The password and the other keys stay the same.
    ///
    /// - Parameter check: called under the lock of the whole vault, before anything is written; may throw.
    package func renewLostLevel(
        _ unlocked: UnlockedVault, _ password: SecretBytes, _ call: CallContext,
        check: () throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> UnlockedVault {
        let new = try UnlockedVault.missingDeviceKeys(in: unlocked.keys)
        let renewed = UnlockedVault(vault: unlocked.vault.adding(new), keys: unlocked.keys + new)
        let header = unlocked.vault.keys.header
        let slots = try passwordSlots(renewed.keys, password, binding: header.device, unlocked.vault, call)
        return try replace(renewed, slots: header.slots(without: [.password]) + slots, call, check: check)
    }

    /// Binds a vault that has no password to a device, and makes new keys for the levels that need a device.
    package func bind(
        _ unlocked: UnlockedVault, to device: DeviceIdentity, _ call: CallContext,
        check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let changed = try unlocked.binding(to: device)
        let keyfile = try HeaderFiles.keyfile(of: changed.vault.era).derived()
        let base = DeviceSlots.Base(type: .keyfile, derivation: .subkey, wrapping: keyfile.wrapping)
        let slots = try deviceSlots(changed.keys, binding: device, base, changed.vault)
        return try replace(
            changed, slots: changed.vault.keys.header.slots(without: [.device]) + slots, call, check: check)
    }

    /// Makes a recovery code, which replaces an earlier code.
    ///
    /// The code does not open items that need the password at each use.
    package func createRecoveryCode(
        _ unlocked: UnlockedVault, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        try unlocked.checkDevice()
        let code = try RecoveryCode.make()
        let derivation = PasswordDerivation.new(opener.costs)
        let derived = try PasswordDerivation.key(of: try RecoveryCode.normalized(code), by: derivation, call)
        let header = unlocked.vault.keys.header
        let slot = KnownSlot.wrapping(
            unlocked.keys.filter { $0.purpose != .presence }, type: .recovery, derivation: derivation, with: derived,
            vaultID: header.vaultID, era: header.era)
        let base = DeviceSlots.Base(type: .recovery, derivation: derivation, wrapping: derived.wrapping)
        let ofDevice = try deviceSlots(unlocked.keys, binding: header.device, base, unlocked.vault)
        let kept = header.slots(without: [.recovery])
        _ = try replace(unlocked, slots: kept + [.known(slot)] + ofDevice, call)
        return code
    }

    /// Sets a new password in a vault that its recovery code opened. The code stays valid.
    ///
    /// Two kinds of items are lost: items that need the password at each use, and items of levels whose keys the code
    /// does not open.
    ///
    /// - Parameters:
    ///   - isUnbinding: whether to end the vault's binding to its device.
    ///   - check: called under the lock of the whole vault, before anything is written; may throw.
    /// - Throws: ``Status/unavailable`` if the vault stays bound to its device and the device does not answer.
    package func recover(
        _ recovered: UnlockedVault, newPassword: SecretBytes, isUnbinding: Bool = false, _ call: CallContext,
        check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let vault = recovered.vault
        let device = isUnbinding ? nil : vault.keys.header.device
        var keys = recovered.keys + [try OpenKey.make(.presence)]
        if device != nil {
            try recovered.checkDevice()
            keys += try UnlockedVault.missingDeviceKeys(in: keys)
        }
        let slots = try passwordSlots(keys, newPassword, binding: device, vault, call)
        let unlocked = UnlockedVault(vault: vault.adding(keys), keys: keys)
        let kept = vault.keys.header.slots(without: isUnbinding ? [.password, .device] : [.password])
        return try replace(unlocked, slots: kept + slots, call, check: check)
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
        _ unlocked: UnlockedVault, slots: [Slot], _ call: CallContext, keeping keys: [OpenKey]? = nil,
        expiringAfter limit: UInt32? = nil, check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let vault = try writer.replace(
            of: unlocked.vault, slots: slots, headerKey: try unlocked.headerKey(), keeping: keys ?? unlocked.keys, call,
            expiringAfter: limit, check: check)
        return UnlockedVault(vault: vault.adding(unlocked.keys), keys: unlocked.keys)
    }

    /// Makes a password slot, and the device slots that are based on the password slot.
    private func passwordSlots(
        _ keys: [OpenKey], _ password: SecretBytes, binding device: DeviceIdentity?, _ vault: OpenVault,
        _ call: CallContext
    ) throws(TokenKeepError) -> [Slot] {
        try PasswordDerivation.check(password)
        let derivation = PasswordDerivation.new(opener.costs)
        let derived = try PasswordDerivation.key(of: password, by: derivation, call)
        let slot = KnownSlot.wrapping(
            keys, type: .password, derivation: derivation, with: derived, vaultID: vault.keys.vaultID,
            era: vault.era.number)
        let base = DeviceSlots.Base(type: .password, derivation: derivation, wrapping: derived.wrapping)
        return [.known(slot)] + (try deviceSlots(keys, binding: device, base, vault))
    }

    /// Makes the device slots that are based on `base`; none if `device` is nil.
    private func deviceSlots(
        _ keys: [OpenKey], binding device: DeviceIdentity?, _ base: DeviceSlots.Base, _ vault: OpenVault
    ) throws(TokenKeepError) -> [Slot] {
        guard let device else { return [] }
        if base.type == .password { opener.sweepIndices(of: vault, for: device) }
        return try DeviceSlots(devices: opener.residentKeys.devices)
            .make(keys, for: device, base, of: vault.keys.vaultID, era: vault.era.number)
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
            keys: keys.filter { !$0.isRetiring }, device: device)
    }
}
