package import TokenKeepCore

/// The keys that compute versions, fingerprints and IDs of items. These keys are never replaced.
package struct JournalKeys: Sendable {
    /// The key that computes item versions.
    package let versions: ItemVersionKey
    private let ids: SecretBytes
    private let machines: SecretBytes
    private let fingerprints: SecretBytes

    init(_ key: SecretBytes) throws(TokenKeepError) {
        versions = ItemVersionKey(key: try Subkey.ofJournalKey(key, for: .versions))
        ids = try Subkey.ofJournalKey(key, for: .ids)
        machines = try Subkey.ofJournalKey(key, for: .machines)
        fingerprints = try Subkey.ofJournalKey(key, for: .fingerprints)
    }

    /// The 16-byte ID of an item, computed from its encoded name.
    package func id(of bytes: [UInt8]) -> [UInt8] { JournalKeys.digest(bytes, ids) }

    /// The 16-byte hash of a machine's id.
    package func machine(_ id: [UInt8]) -> [UInt8] { JournalKeys.digest(id, machines) }

    /// The keyed fingerprint of a value, 16 bytes. Fingerprints make it possible to compare values that are not stored.
    package func fingerprint(of secret: SecretBytes) -> [UInt8] {
        secret.withUnsafeBytes { secret in
            fingerprints.withUnsafeBytes { KeyedHash.digest(of: secret, key: $0, count: 16) }
        }
    }

    private static func digest(_ bytes: [UInt8], _ key: SecretBytes) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            key.withUnsafeBytes { KeyedHash.digest(of: bytes, key: $0, count: 16) }
        }
    }
}
