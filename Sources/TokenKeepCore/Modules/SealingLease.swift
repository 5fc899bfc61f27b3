/// Copies of an unlocked vault's keys, held in guarded memory for a limited time and never stored.
///
/// With such copies, a server's answer can be encrypted even if the vault was locked after the request was sent.
package struct SealingLease: Sendable {
    /// The lifetime of a lease in milliseconds. An expired lease gives no keys.
    package static let longestLife: UInt32 = 60_000

    private let keys: [String: SecretBytes]
    private let end = Deadline(milliseconds: longestLife)

    /// - Parameter keys: the keys by place. A place is a text that names the vault, the key's purpose and the key's id.
    package init(_ keys: [String: SecretBytes]) { self.keys = keys }

    /// The key at a place (a text with vault, purpose and key id); nil if the lease has expired or lacks the key.
    package func key(at place: String) -> SecretBytes? { end.hasPassed ? nil : keys[place] }
}
