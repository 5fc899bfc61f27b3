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
        let slotID = randomID()
        var keys: [WrappedKey] = []
        for purpose in [KeyPurpose.level(.whenUnlocked), .level(.afterFirstUnlock), .metadata] {
            let key = try SecretBytes(randomCount: 32, in: arena)
            keys.append(wrap(key, for: purpose, id: randomID(), slotID: slotID, of: keyfile, with: wrapping))
        }
        let slot = KnownSlot(
            type: .keyfile, id: slotID, derivation: .subkey, createdAt: .now, keys: keys, extension: [])
        let nameKeyBox = wrap(nameKey, for: .name, id: nameKeyID, slotID: 0, of: keyfile, with: wrapping).box
        let header = Header(
            vaultID: keyfile.vaultID, epoch: 1, createdAt: .now, nameKeyID: nameKeyID, nameKeyBox: nameKeyBox,
            slots: [.known(slot)])
        let body = header.serializedWithoutMAC()
        return body + (try KeyHierarchy.headerMAC(of: body, nameKey: nameKey, in: arena))
    }

    private static func wrap(
        _ key: SecretBytes, for purpose: KeyPurpose, id: UInt64, slotID: UInt64, of keyfile: Keyfile,
        with wrapping: SecretBytes
    ) -> WrappedKey {
        let data = WrappedKey.additionalData(
            vaultID: keyfile.vaultID, slotType: KnownSlot.SlotType.keyfile.rawValue, slotID: slotID, purpose: purpose,
            isRetiring: false, id: id)
        let box = key.withUnsafeBytes { AuthenticatedBox.seal($0, key: wrapping, data: data) }
        return WrappedKey(purpose: purpose, isRetiring: false, id: id, box: box)
    }

    private static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    private static func randomID() -> UInt64 {
        max(1, random(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
