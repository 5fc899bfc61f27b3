import TokenKeepCore

/// The descriptions under which the kernel's keyring keeps the keys of vaults.
package enum ClassKeyPlace {
    /// The description under which the kernel keeps a key: `tokenkeep:VAULTID:PURPOSE:KEYID`.
    package static func of(_ id: UInt64, for purpose: KeyPurpose, _ vaultID: [UInt8]) -> String {
        let bytes = withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return prefix(vaultID, purpose) + Hexadecimal.text(bytes)
    }

    /// The description of the headers (files of encrypted keys) that an unlock verified.
    static func trust(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "trust" }

    /// The description of the mark that a vault's keys expire soon, as after a login.
    static func login(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "login" }

    /// The description of the mark that the user locked the vault.
    static func lockMark(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "locked" }

    /// The beginning of the descriptions of the session answers that wait in the kernel for the vault's unlock.
    package static func stashes(_ vaultID: [UInt8]) -> String { "tokenkeep-stash:\(Hexadecimal.text(vaultID)):" }

    /// The id of the vault to which a description belongs; nil for a description of another program.
    static func vaultID(of place: String) -> [UInt8]? {
        let parts = place.split(separator: ":")
        guard parts.count > 2, parts[0] == "tokenkeep" else { return nil }
        return Hexadecimal.bytes(String(parts[1]), count: 16)
    }

    /// Whether a description is that of the headers that an unlock of its vault verified.
    static func isTrust(_ place: String) -> Bool { place.hasSuffix(":trust") }

    /// Whether a description is that of a key that opens something, rather than that of the verified headers or of the lock mark.
    static func isOfKey(_ place: String) -> Bool { !isTrust(place) && !place.hasSuffix(":locked") }

    /// The beginning of the descriptions of all keys of all vaults.
    static let beginning = "tokenkeep:"

    /// The beginning of the descriptions of all keys of a vault.
    static func prefix(_ vaultID: [UInt8]) -> String { "\(beginning)\(Hexadecimal.text(vaultID)):" }

    /// The beginning of the descriptions of a vault's keys for one purpose.
    static func prefix(_ vaultID: [UInt8], _ purpose: KeyPurpose) -> String { prefix(vaultID) + "\(purpose.number):" }
}
