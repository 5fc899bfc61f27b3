import CSodium
import TokenKeepCore

/// Keys derived from keys, by libsodium's crypto_kdf.
enum Subkey {
    /// The key that wraps the keys of a keyfile slot.
    static func keyfileWrapping(of key: SecretBytes, in arena: SecretArena) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: 1, context: "TKkeyfil", in: arena)
    }

    /// What the name key is used for.
    enum NameKeyUse: UInt64 {
        case names = 1
        case states = 2
        case headerMAC = 3
        case versions = 4
        case fingerprints = 5
    }

    /// The key for one use of the name key.
    static func ofNameKey(
        _ key: SecretBytes, for use: NameKeyUse, in arena: SecretArena
    ) throws(TokenKeepError) -> SecretBytes {
        try derive(from: key, number: use.rawValue, context: "TKname__", in: arena)
    }

    /// The key of items that each use asks for.
    static func joining(
        _ classKey: SecretBytes, _ presenceKey: SecretBytes, in arena: SecretArena?
    ) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: KeyHierarchy.keyLength, in: arena) { key in
            guard let start = key.bindMemory(to: UInt8.self).baseAddress else { return }
            classKey.withUnsafeBytes { classKey in
                presenceKey.withUnsafeBytes { presenceKey in
                    _ = crypto_generichash(
                        start, key.count, presenceKey.bindMemory(to: UInt8.self).baseAddress, UInt64(presenceKey.count),
                        classKey.bindMemory(to: UInt8.self).baseAddress, classKey.count)
                }
            }
        }
    }

    private static func derive(
        from key: SecretBytes, number: UInt64, context: String, in arena: SecretArena
    ) throws(TokenKeepError) -> SecretBytes {
        let context = context.utf8.map { CChar(bitPattern: $0) }
        guard key.count == Int(crypto_kdf_KEYBYTES), context.count == Int(crypto_kdf_CONTEXTBYTES) else {
            throw TokenKeepError(.internal, "a key or context of the wrong length", module: "vault")
        }
        return try SecretBytes(count: 32, in: arena) { subkey in
            key.withUnsafeBytes { key in
                guard let subkey = subkey.bindMemory(to: UInt8.self).baseAddress,
                    let key = key.bindMemory(to: UInt8.self).baseAddress
                else { return }
                _ = crypto_kdf_derive_from_key(subkey, 32, number, context, key)
            }
        }
    }
}
