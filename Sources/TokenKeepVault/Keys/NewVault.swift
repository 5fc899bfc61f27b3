import CSodium
import TokenKeepCore

/// The files of a new vault.
enum NewVault {
    /// A keyfile with a random key and vault id.
    static func keyfile(in arena: SecretArena) throws(TokenKeepError) -> Keyfile {
        try Sodium.start()
        return Keyfile(vaultID: random(16), key: try SecretBytes(randomCount: 32, in: arena))
    }

    /// A header with random keys for the levels that a keyfile can open, wrapped by `keyfile`.
    static func header(for keyfile: Keyfile, in arena: SecretArena) throws(TokenKeepError) -> [UInt8] {
        let wrapping = try Subkey.keyfileWrapping(of: keyfile.key, in: arena)
        let nameKey = try SecretBytes(randomCount: 32, in: arena)
        let nameKeyID = randomID()
        let data = WrappedKey.additionalData(
            vaultID: keyfile.vaultID, slotType: KnownSlot.SlotType.keyfile.rawValue, slotID: 0, purpose: .name,
            isRetiring: false, id: nameKeyID)
        let slot = KnownSlot.wrapping(
            try keys(for: purposes, in: arena), type: .keyfile, derivation: .subkey, with: wrapping,
            vaultID: keyfile.vaultID)
        let header = Header(
            vaultID: keyfile.vaultID, epoch: 1, createdAt: .now, nameKeyID: nameKeyID,
            nameKeyBox: nameKey.withUnsafeBytes { AuthenticatedBox.seal($0, key: wrapping, data: data) },
            slots: [.known(slot)])
        let body = header.serializedWithoutMAC()
        return body + Header.mac(of: body, key: try Subkey.ofNameKey(nameKey, for: .headerMAC, in: arena))
    }

    /// What a vault has keys for, with or without a password.
    static let purposes: [KeyPurpose] = [.level(.whenUnlocked), .level(.afterFirstUnlock), .metadata]

    /// New random keys.
    static func keys(
        for purposes: [KeyPurpose], in arena: SecretArena
    ) throws(TokenKeepError) -> [KeyHierarchy.Entry] {
        var keys: [KeyHierarchy.Entry] = []
        for purpose in purposes {
            let key = try SecretBytes(randomCount: KeyHierarchy.keyLength, in: arena)
            keys.append(KeyHierarchy.Entry(purpose: purpose, isRetiring: false, id: randomID(), key: key))
        }
        return keys
    }

    static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    static func randomID() -> UInt64 {
        max(1, random(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
