package import TokenKeepCore

/// A complete set of new keys for a vault, with the header and the keyfile that contain them.
package struct EraKeys {
    package let era: UInt64
    let keyfile: Keyfile
    package let headerFile: [UInt8]
    package let header: Header
    /// The new keys, followed by retiring keys.
    ///
    /// Retiring keys are replaced keys that are kept because items in other modules are encrypted under them.
    package let keys: [OpenKey]

    /// The means to open the new keys: the keyfile or a password.
    package enum Opener {
        case keyfile
        case password(DerivedKey, KeyDerivation)
    }

    /// The purposes of a vault's keys. The vault has exactly one current key for each purpose.
    static func purposes(withPassword: Bool) -> [KeyPurpose] {
        [.level(.whenUnlocked), .level(.afterFirstUnlock), .metadata, .header] + (withPassword ? [.presence] : [])
    }

    /// Makes a complete set of new keys.
    ///
    /// - Parameters:
    ///   - era: the N of the directory `era-N` for the new keys.
    ///   - journalKey: the vault's journal key, which never changes; nil for a new vault.
    ///   - retiring: old keys that are kept because items in other modules are encrypted under them.
    ///   - device: the device to which the vault is bound, and this machine's devices; nil if the vault is bound to no
    ///     device.
    package static func make(
        vaultID: [UInt8], era: UInt64, opener: Opener, journalKey: OpenKey?, retiring: [OpenKey],
        device: (identity: DeviceIdentity, devices: Devices)? = nil
    ) throws(TokenKeepError) -> EraKeys {
        let keyfile = try Keyfile.make(vaultID: vaultID, era: era)
        let derived = try keyfile.derived()
        let outside = WrappedKey.Place(vaultID: vaultID, era: era, slotType: .keyfile, slotID: 0)
        let nameKey = try OpenKey.make(.name)
        let journalKey = if let journalKey { journalKey } else { try OpenKey.make(.journal) }
        let (type, derivation, wrapping): (KnownSlot.SlotType, KeyDerivation, DerivedKey) =
            switch opener {
            case .keyfile: (.keyfile, .subkey, derived)
            case .password(let key, let derivation): (.password, derivation, key)
            }
        let ofDevice = device == nil ? [] : DeviceSlots.levels(of: type).map(KeyPurpose.level)
        var keys: [OpenKey] = []
        for purpose in purposes(withPassword: type == .password) + ofDevice { keys.append(try OpenKey.make(purpose)) }
        // A vault without a password keeps no retiring key that needs a password. Items that such a key seals in other
        // modules can then no longer be opened.
        keys += retiring.filter { type == .password || !$0.purpose.needsPassword }
        let slot = KnownSlot.wrapping(
            keys, type: type, derivation: derivation, with: wrapping, vaultID: vaultID, era: era)
        let base = DeviceSlots.Base(type: type, derivation: derivation, wrapping: wrapping.wrapping)
        let deviceSlots: [Slot] =
            if let device {
                try DeviceSlots(devices: device.devices)
                    .make(keys, for: device.identity, base, of: vaultID, era: era)
            } else { [] }
        let header = Header(
            vaultID: vaultID, era: era, epoch: 1, createdAt: .now,
            nameKey: WrappedKey.wrapping(nameKey, at: outside, with: derived.wrapping),
            journalKey: WrappedKey.wrapping(journalKey, at: outside, with: derived.wrapping),
            slots: [.known(slot)] + deviceSlots)
        guard let headerKey = keys.first(where: { $0.purpose == .header }) else {
            throw TokenKeepError(.internal, "an era without a header key", module: "vault")
        }
        let file = try HeaderMAC.file(
            of: header, nameMAC: try Subkey.ofNameKey(nameKey.bytes, for: .headerMAC), headerKey: headerKey.bytes)
        return EraKeys(era: era, keyfile: keyfile, headerFile: file, header: header, keys: keys)
    }

    /// A key ring with the new keys, which only this process can use. Other processes get the new keys after the new
    /// era is in force.
    package func ring(_ residentKeys: ClassKeyStore) throws(TokenKeepError) -> KeyRing {
        do throws(FormatFault) {
            return try KeyRing.open(headerFile: headerFile, keyfile: keyfile, era: era, residentKeys: residentKeys)
                .adding(keys)
        } catch {
            throw error.error(in: "header")
        }
    }

    /// Writes the keyfile and then the header into a directory `era-N`. Each file is durable before the next is
    /// written.
    package func write(to directory: EraDirectory) throws(TokenKeepError) {
        try keyfile.serialized().lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(Keyfile.name, in: directory.descriptor, with: bytes)
        }
        for name in HeaderFiles.names.reversed() { try HeaderFiles.write(headerFile, to: name, in: directory) }
    }
}
