package import TokenKeepCore
import TokenKeepKeys

/// The vault's note about an item whose secret it sealed (encrypted) for other modules.
package struct SealedNote: Equatable, Sendable {
    /// A module on one machine that may hold the sealed item.
    package struct Holder: Equatable, Sendable {
        package let module: String
        /// The hash of the machine's id.
        package let machine: [UInt8]
        /// The ids of the vault's keys under which the module may hold the secret encrypted.
        package var keyIDs: [UInt64]
        /// The fingerprints (keyed hashes) of the encrypted secrets that the module may hold, the latest last.
        var fingerprints: [[UInt8]]
    }

    package let name: ItemName
    package var level: AccessLevel
    package var flags: ItemFlags
    package var holders: [Holder]
    /// Fields of the note that this version does not know, kept unchanged.
    var kept: [UnknownField] = []

    static let maximumFingerprints = 16

    /// Adds an entry to the note: the module is about to get the item's secret, encrypted under the key with this id.
    mutating func add(_ module: String, _ machine: [UInt8], keyID: UInt64, _ fingerprint: [UInt8]) {
        guard let index = index(of: module, machine) else {
            return holders.append(
                Holder(module: module, machine: machine, keyIDs: [keyID], fingerprints: [fingerprint]))
        }
        if !holders[index].keyIDs.contains(keyID) { holders[index].keyIDs.append(keyID) }
        let known = holders[index].fingerprints.filter { $0 != fingerprint }
        holders[index].fingerprints = known.suffix(SealedNote.maximumFingerprints - 1) + [fingerprint]
    }

    /// The entry about a module on a machine, in the note about a sealed item; nil if there is none.
    func holder(_ module: String, _ machine: [UInt8]) -> Holder? { index(of: module, machine).map { holders[$0] } }

    private func index(of module: String, _ machine: [UInt8]) -> Int? {
        holders.firstIndex { $0.module == module && $0.machine == machine }
    }
}
