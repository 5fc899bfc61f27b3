/// Computes the version of an item: a keyed hash of its secret and its visible metadata.
///
/// Times and the module's name are not hashed, so that an item keeps its version when it moves between modules.
public struct ItemVersionKey: Sendable {
    private let key: SecretBytes

    /// Makes the key that computes item versions. `key` has 32 secret bytes.
    public init(key: SecretBytes) { self.key = key }

    /// Makes a random key that computes item versions, for a store that has no readable vault.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public static func random() throws(TokenKeepError) -> ItemVersionKey {
        ItemVersionKey(
            key: try SecretBytes(randomCount: 32))
    }

    /// Computes the version of an item, which is never 0.
    ///
    /// The version is the first eight bytes of the keyed BLAKE2b-128 of these parts. Each part is preceded by its
    /// length (32 bits):
    ///
    /// - namespace, service, account, label
    /// - the level and the flags (32 bits each)
    /// - the expiry (64 bits, 0 for none)
    /// - each attribute's name and value, in the order of the names
    /// - BLAKE2b-256 of the secret under the same key
    ///
    /// If the result is 0, the version is 1. All integers are little-endian.
    public func version(of details: ItemDetails, secret: SecretBytes) -> UInt64 {
        var message = LengthPrefixedBytes()
        message.append(details.name.namespace.utf8)
        message.append(details.name.service.utf8)
        message.append(details.name.account.utf8)
        message.append(details.label.utf8)
        message.append(integer: details.accessLevel.rawValue)
        message.append(integer: details.flags.rawValue)
        message.append(integer: details.expiresAt?.rawValue ?? 0)
        for attribute in details.attributes.pairs {
            message.append(attribute.name.utf8)
            message.append(attribute.value.utf8)
        }
        return key.withUnsafeBytes { key in
            message.append(secret.withUnsafeBytes { KeyedHash.digest(of: $0, key: key, count: 32) })
            let digest = message.bytes.withUnsafeBytes { KeyedHash.digest(of: $0, key: key, count: 16) }
            let number = digest.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            return max(1, UInt64(littleEndian: number))
        }
    }
}
