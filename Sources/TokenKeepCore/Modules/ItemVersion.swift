/// Computes item versions: a keyed hash of the secret and the user-visible metadata.
///
/// Time, nonce and module are left out, so that a version survives a move between modules.
public struct ItemVersionKey: Sendable {
    private let key: SecretBytes

    /// Uses a key of 32 bytes.
    public init(key: SecretBytes) { self.key = key }

    /// A random key, for a store without a readable vault.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public static func random() throws(TokenKeepError) -> ItemVersionKey {
        ItemVersionKey(
            key: try SecretBytes(randomCount: 32))
    }

    /// The version of an item, never 0.
    ///
    /// The first eight bytes of BLAKE2b-128 under the key, over these parts in this order, each after its length (32
    /// bits):
    ///
    /// - namespace, service, account, label
    /// - the level and the flags (32 bits each)
    /// - the expiry (64 bits, 0 for none)
    /// - each attribute's name and value, in the order of the names
    /// - BLAKE2b-256 of the secret under the same key
    ///
    /// The result 0 becomes 1. All integers are little-endian.
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
