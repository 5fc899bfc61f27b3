/// Keys of an unlocked vault, held in guarded memory so that an answer that is under way can be sealed although the vault
/// was locked meanwhile. Never stored.
package struct SealingLease: Sendable {
    /// The longest life of a lease, in milliseconds.
    package static let longestLife: UInt32 = 60_000

    private let keys: [String: SecretBytes]
    private let end = Deadline(milliseconds: longestLife)

    /// - Parameter keys: by the place of each key, which names vault, purpose and key.
    package init(_ keys: [String: SecretBytes]) { self.keys = keys }

    /// The key at a place; nil if the lease is over or has no such key.
    package func key(at place: String) -> SecretBytes? { end.hasPassed ? nil : keys[place] }
}
