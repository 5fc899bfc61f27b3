package import TokenKeepCore

/// The new keys of an era, with its header and its keyfile.
package struct EraKeys {
    package let era: UInt64
    let keyfile: Keyfile
    package let headerFile: [UInt8]
    package let header: Header
    /// The keys that the slot wraps. Retiring keys come last.
    package let keys: [OpenKey]

    /// The means that opens an era's keys.
    package enum Opener {
        case keyfile
        case password(DerivedKey, KeyDerivation)
    }

    /// The purposes for which a slot has exactly one current key each.
    static func purposes(withPassword: Bool) -> [KeyPurpose] {
        [.level(.whenUnlocked), .level(.afterFirstUnlock), .metadata, .header] + (withPassword ? [.presence] : [])
    }

    /// Makes keys for an era.
    ///
    /// - Parameters:
    ///   - journalKey: the vault's journal key, which never changes; nil for a new vault.
    ///   - retiring: keys that sealed items in other modules still need.
    package static func make(
        vaultID: [UInt8], era: UInt64, opener: Opener, journalKey: OpenKey?, retiring: [OpenKey]
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
        var keys: [OpenKey] = []
        for purpose in purposes(withPassword: type == .password) { keys.append(try OpenKey.make(purpose)) }
        keys += retiring.filter { type == .password || $0.purpose != .presence }
        let slot = KnownSlot.wrapping(
            keys, type: type, derivation: derivation, with: wrapping, vaultID: vaultID, era: era)
        let header = Header(
            vaultID: vaultID, era: era, epoch: 1, createdAt: .now,
            nameKey: WrappedKey.wrapping(nameKey, at: outside, with: derived.wrapping),
            journalKey: WrappedKey.wrapping(journalKey, at: outside, with: derived.wrapping), slots: [.known(slot)])
        guard let headerKey = keys.first(where: { $0.purpose == .header }) else {
            throw TokenKeepError(.internal, "an era without a header key", module: "vault")
        }
        let file = try HeaderMAC.file(
            of: header, nameMAC: try Subkey.ofNameKey(nameKey.bytes, for: .headerMAC), headerKey: headerKey.bytes)
        return EraKeys(era: era, keyfile: keyfile, headerFile: file, header: header, keys: keys)
    }

    /// Opens the new era's keys. No other process has them yet.
    package func ring(_ residentKeys: ClassKeyStore) throws(TokenKeepError) -> KeyRing {
        do throws(FormatFault) {
            return try KeyRing.open(headerFile: headerFile, keyfile: keyfile, era: era, residentKeys: residentKeys)
                .adding(keys)
        } catch {
            throw error.error(in: "header")
        }
    }

    /// Writes the keyfile, then the header, into the era's directory. Each file is durable before the next is written.
    package func write(to directory: EraDirectory) throws(TokenKeepError) {
        try keyfile.serialized().lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(Keyfile.name, in: directory.descriptor, with: bytes)
        }
        for name in HeaderFiles.names.reversed() { try HeaderFiles.write(headerFile, to: name, in: directory) }
    }
}
