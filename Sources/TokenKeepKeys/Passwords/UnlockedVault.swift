package import TokenKeepCore

/// A vault with the keys that a password, a recovery code or the keyfile opened.
package struct UnlockedVault: Sendable {
    package let vault: OpenVault
    /// All keys of the opened header slot.
    ///
    /// The keys include the header key and the keys for items that need the password at each use.
    package let keys: [OpenKey]
    /// The reason why the device's keys are missing from ``keys``; nil if no keys are missing.
    package let deviceFault: DeviceFault?

    /// - Parameter keys: the keys that a password, a recovery code or the keyfile opened.
    package init(vault: OpenVault, keys: [OpenKey], deviceFault: DeviceFault? = nil) {
        self.vault = vault
        self.keys = keys
        self.deviceFault = deviceFault
    }

    /// Makes an unlocked vault without a password, with the keys that the keyfile and the vault's device open.
    package init(withoutPassword vault: OpenVault) throws(TokenKeepError) {
        guard let ofDevice = try vault.keys.deviceKeys?.open() else {
            self.init(vault: vault, keys: vault.keys.opened)
            return
        }
        self.init(
            vault: vault.adding(ofDevice.keys), keys: vault.keys.opened + ofDevice.keys, deviceFault: ofDevice.fault)
    }

    /// Throws ``Status/unavailable`` if the device did not open its keys. A change of keys would then lose these keys.
    package func checkDevice() throws(TokenKeepError) {
        if let deviceFault { throw deviceFault.error }
    }

    /// Whether only the secret of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly`` is missing, because the TPM
    /// has lost it.
    ///
    /// An interrupted removal of the password leaves the vault in this state. A program on the wire to the TPM can
    /// forge the loss.
    package var lacksIndexAlone: Bool { deviceFault == TPMReply.noIndex }

    /// A copy of this vault without the fault, for a change that replaces or removes the key whose secret the TPM has lost.
    package var acceptingLostIndex: UnlockedVault {
        lacksIndexAlone ? UnlockedVault(vault: vault, keys: keys) : self
    }

    /// The keys for items that need the password at each use, the current key first.
    ///
    /// Only the call that prompted the user for the password may use these keys.
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

extension UnlockedVault {
    /// A copy of this vault with new keys for the levels that need a device, for a change that binds the vault to a device.
    ///
    /// Keys that an earlier device opened are not in the copy.
    ///
    /// - Parameter device: the new device; nil to keep the present device and its keys.
    func binding(to device: DeviceIdentity?) throws(TokenKeepError) -> UnlockedVault {
        guard device != nil else {
            try checkDevice()
            return self
        }
        let kept = keys.filter { !$0.purpose.isOfDevice }
        let hasPassword = vault.keys.header.hasPassword
        let new = try UnlockedVault.missingDeviceKeys(in: kept, of: hasPassword ? .password : .keyfile)
        return UnlockedVault(vault: vault.adding(new), keys: kept + new)
    }

    /// Makes a key for each level that needs a device and has no current key among `keys`.
    static func missingDeviceKeys(
        in keys: [OpenKey], of base: KnownSlot.SlotType = .password
    ) throws(TokenKeepError) -> [OpenKey] {
        var new: [OpenKey] = []
        for purpose in DeviceSlots.levels(of: base).map(KeyPurpose.level)
        where !keys.contains(where: { $0.purpose == purpose && !$0.isRetiring }) {
            new.append(try OpenKey.make(purpose))
        }
        return new
    }
}
