/// Copies of an unlocked vault's keys, held in guarded memory for a limited time and never stored.
///
/// A server's answer can then be encrypted even if the vault is locked after the request was sent.
package struct SealingLease: Sendable {
    /// The lifetime of a lease in milliseconds. An expired lease returns no keys.
    package static let longestLife: UInt32 = 60_000

    private let keys: [String: SecretBytes]
    private let end = Deadline(milliseconds: longestLife)

    /// - Parameter keys: the keys by place. A place is a text that contains the vault's id, the key's purpose and its
    ///   id.
    package init(_ keys: [String: SecretBytes]) { self.keys = keys }

    /// The key at a place (a text with vault id, purpose and key id); nil if the lease has expired or lacks the key.
    package func key(at place: String) -> SecretBytes? { end.hasPassed ? nil : keys[place] }
}
