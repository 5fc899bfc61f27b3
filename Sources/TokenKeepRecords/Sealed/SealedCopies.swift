package import TokenKeepCore
import TokenKeepKeys

/// The copies of an item that the vault sealed (encrypted) for other modules, as the item's record lists them.
package struct SealedCopies: Equatable, Sendable {
    /// A module on one machine that may hold the sealed item.
    package struct Holder: Equatable, Sendable {
        package let module: String
        /// The hash of the machine's id.
        package let machine: [UInt8]
        /// The ids of the vault's keys under which the secret in the module may be encrypted.
        package var keyIDs: [UInt64]
        /// The keyed fingerprints of the encrypted secrets that the module may hold; the latest is the last.
        var fingerprints: [[UInt8]]
    }

    /// The item's level at the last save, which is known even while the module is unavailable.
    package var level: AccessLevel
    package var flags: ItemFlags
    package var holders: [Holder] = []

    static let maximumFingerprints = 16

    /// Adds a copy, because a module is about to get the item's secret, encrypted under the key with the id `keyID`.
    mutating func add(_ module: String, _ machine: [UInt8], keyID: UInt64, _ fingerprint: [UInt8]) {
        guard let index = index(of: module, machine) else {
            return holders.append(
                Holder(module: module, machine: machine, keyIDs: [keyID], fingerprints: [fingerprint]))
        }
        if !holders[index].keyIDs.contains(keyID) { holders[index].keyIDs.append(keyID) }
        let known = holders[index].fingerprints.filter { $0 != fingerprint }
        holders[index].fingerprints = known.suffix(SealedCopies.maximumFingerprints - 1) + [fingerprint]
    }

    /// Removes all fingerprints of a module except the latest, because the module confirmed the latest secret.
    mutating func keepLatest(_ module: String, _ machine: [UInt8]) {
        guard let index = index(of: module, machine) else { return }
        holders[index].fingerprints = holders[index].fingerprints.suffix(1)
    }

    /// The entry for a module on a machine; nil if there is none.
    func holder(_ module: String, _ machine: [UInt8]) -> Holder? { index(of: module, machine).map { holders[$0] } }

    private func index(of module: String, _ machine: [UInt8]) -> Int? {
        holders.firstIndex { $0.module == module && $0.machine == machine }
    }
}
