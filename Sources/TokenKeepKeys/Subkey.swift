import CSodium
package import TokenKeepCore

/// Derives keys from other keys (docs/format.md, "Keys").
package enum Subkey {
    /// The uses of the name key, by number. For each use, a separate key is derived from the name key.
    enum NameKeyUse: UInt64 {
        case names = 1
        case states = 2
        case headerMAC = 3
        case sessions = 4
    }

    /// The uses of the journal key, by number. For each use, a separate key is derived from the journal key.
    enum JournalKeyUse: UInt64 {
        case ids = 1
        case machines = 2
        case versions = 3
        case fingerprints = 4
        /// The authValue of the TPM's index that contains the vault's anchor.
        case anchor = 5
    }

    /// Derives a key from the name key: for file names of records, states, sessions or the header's MAC A.
    static func ofNameKey(_ key: SecretBytes, for use: NameKeyUse) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: use.rawValue, context: "TKname__")
    }

    /// Derives a key from the journal key: for versions, IDs, fingerprints, machine hashes or the vault's anchor.
    static func ofJournalKey(_ key: SecretBytes, for use: JournalKeyUse) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: use.rawValue, context: "TKjourn_")
    }

    /// Derives, from the metadata key, the key that authenticates the pending writes of records.
    package static func ofMetadataKey(_ key: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: 1, context: "TKmetada")
    }

    /// Derives the key for the header's MAC B from the header key.
    static func ofHeaderKey(_ key: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: 1, context: "TKheader")
    }

    /// Joins the key of a level and the presence key into the key for items that need the password at each use.
    package static func joining(
        _ classKey: SecretBytes, _ presenceKey: SecretBytes
    ) throws(TokenKeepError) -> SecretBytes {
        try presenceKey.withUnsafeBytes { presenceKey throws(TokenKeepError) in
            try hash(KeyRing.keyLength, of: presenceKey, key: classKey)
        }
    }

    /// Computes the BLAKE2b hash of `bytes` under a key. The hash has `length` bytes.
    static func hash(
        _ length: Int, of bytes: UnsafeRawBufferPointer, key: SecretBytes
    ) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: length) { hash in
            guard let start = hash.bindMemory(to: UInt8.self).baseAddress else { return }
            key.withUnsafeBytes { key in
                _ = crypto_generichash(
                    start, length, bytes.bindMemory(to: UInt8.self).baseAddress, UInt64(bytes.count),
                    key.bindMemory(to: UInt8.self).baseAddress, key.count)
            }
        }
    }

    /// Derives 32 bytes with `crypto_kdf_derive_from_key` of libsodium.
    static func derive(
        from key: SecretBytes, number: UInt64, context: String
    ) throws(TokenKeepError) -> SecretBytes {
        let context = context.utf8.map { CChar(bitPattern: $0) }
        guard key.count == Int(crypto_kdf_KEYBYTES), context.count == Int(crypto_kdf_CONTEXTBYTES) else {
            throw TokenKeepError(.internal, "a key or context of the wrong length", module: "vault")
        }
        return try SecretBytes(count: KeyRing.keyLength) { subkey in
            key.withUnsafeBytes { key in
                guard let subkey = subkey.bindMemory(to: UInt8.self).baseAddress,
                    let key = key.bindMemory(to: UInt8.self).baseAddress
                else { return }
                _ = crypto_kdf_derive_from_key(subkey, KeyRing.keyLength, number, context, key)
            }
        }
    }
}
