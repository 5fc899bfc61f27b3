package import TokenKeepCore

/// The subkeys of the journal key, which are the same in every era of a vault (docs/format.md, "Keys").
package struct JournalKeys: Sendable {
    /// The secret key for hashing items to versions.
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

    /// The ID (16 bytes) for a serialized name.
    package func id(of bytes: [UInt8]) -> [UInt8] { JournalKeys.digest(bytes, ids) }

    /// The hash (16 bytes) of a machine's id.
    package func machine(_ id: [UInt8]) -> [UInt8] { JournalKeys.digest(id, machines) }

    /// A keyed fingerprint (16 bytes) of a value. Equal fingerprints mean equal values, without keeping the values.
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
