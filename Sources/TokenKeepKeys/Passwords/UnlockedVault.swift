package import TokenKeepCore

/// A vault with the keys that a password, a recovery code or the keyfile opened.
package struct UnlockedVault: Sendable {
    package let vault: OpenVault
    /// All keys of the opened header slot.
    ///
    /// They include the header key and the keys for items that need the password at each use.
    package let keys: [OpenKey]
    /// The reason why the device did not open its keys, which are missing in ``keys``; nil if it did, or if the vault is
    /// bound to no device.
    package let deviceFault: DeviceFault?

    /// - Parameter keys: the keys that a password opened; empty if the vault has no password.
    package init(vault: OpenVault, keys: [OpenKey], deviceFault: DeviceFault? = nil) {
        self.vault = vault
        self.keys = keys
        self.deviceFault = deviceFault
    }

    /// A vault without a password, with the keys that the keyfile opens. Asks the vault's device, if there is one.
    package init(withoutPassword vault: OpenVault) throws(TokenKeepError) {
        guard let ofDevice = try vault.keys.deviceKeys?.open() else {
            self.init(vault: vault, keys: vault.keys.opened)
            return
        }
        self.init(
            vault: vault.adding(ofDevice.keys), keys: vault.keys.opened + ofDevice.keys, deviceFault: ofDevice.fault)
    }

    /// Throws ``Status/unavailable`` if the device did not open its keys, so that a change of keys would lose them.
    package func checkDevice() throws(TokenKeepError) {
        if let deviceFault { throw deviceFault.error }
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

extension UnlockedVault {
    /// The vault with the keys that it has once it is bound to a device: new ones for the device's levels, and none that
    /// an earlier device opened.
    ///
    /// - Parameter device: nil if the vault stays bound to its device, whose keys stay.
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

    /// New keys for those of the device's levels that have no current key among `keys`.
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
