import TokenKeepCore

/// The descriptions (names) of vaults' keys in the kernel's keyring.
package enum ClassKeyPlace {
    /// The description of a key: `tokenkeep:VAULTID:PURPOSE:KEYID`.
    package static func of(_ id: UInt64, for purpose: KeyPurpose, _ vaultID: [UInt8]) -> String {
        let bytes = withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return prefix(vaultID, purpose) + Hexadecimal.text(bytes)
    }

    /// The description of the kernel key that contains the headers verified by an unlock.
    static func trust(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "trust" }

    /// The description of the mark that a vault's keys have a limited lifetime, for example after a login.
    static func login(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "login" }

    /// The description of the mark that the user locked the vault.
    static func lockMark(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "locked" }

    /// The prefix of the descriptions of stashed session answers, which stay in the kernel until the vault is unlocked.
    package static func stashes(_ vaultID: [UInt8]) -> String { "tokenkeep-stash:\(Hexadecimal.text(vaultID)):" }

    /// The id of the vault to which a description belongs; nil for a description of another program.
    static func vaultID(of place: String) -> [UInt8]? {
        let parts = place.split(separator: ":")
        guard parts.count > 2, parts[0] == "tokenkeep" else { return nil }
        return Hexadecimal.bytes(String(parts[1]), count: 16)
    }

    /// Whether a description is that of a vault's verified headers.
    static func isTrust(_ place: String) -> Bool { place.hasSuffix(":trust") }

    /// Whether a description is neither that of the verified headers nor that of the lock mark.
    static func isOfKey(_ place: String) -> Bool { !isTrust(place) && !place.hasSuffix(":locked") }

    /// The prefix of the descriptions of all keys of all vaults.
    static let beginning = "tokenkeep:"

    /// The prefix of the descriptions of all keys of one vault.
    static func prefix(_ vaultID: [UInt8]) -> String { "\(beginning)\(Hexadecimal.text(vaultID)):" }

    /// The prefix of the descriptions of a vault's keys for one purpose.
    static func prefix(_ vaultID: [UInt8], _ purpose: KeyPurpose) -> String { prefix(vaultID) + "\(purpose.number):" }
}
