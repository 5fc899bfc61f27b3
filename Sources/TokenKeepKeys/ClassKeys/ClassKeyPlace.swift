import TokenKeepCore

/// The descriptions under which the kernel's keyring keeps the keys of vaults.
package enum ClassKeyPlace {
    /// The description under which the kernel keeps a key: `tokenkeep:VAULTID:PURPOSE:KEYID`.
    package static func of(_ id: UInt64, for purpose: KeyPurpose, _ vaultID: [UInt8]) -> String {
        let bytes = withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return prefix(vaultID) + "\(purpose.number):" + Hexadecimal.text(bytes)
    }

    /// The description of the headers (files of encrypted keys) that an unlock verified.
    static func trust(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "trust" }

    /// The description of the mark that a vault's keys expire soon, as after a login.
    static func login(_ vaultID: [UInt8]) -> String { prefix(vaultID) + "login" }

    /// The id of the vault whose verified headers have this description; nil for any other description.
    static func vaultID(ofTrust place: String) -> [UInt8]? {
        let parts = place.split(separator: ":")
        return parts.count == 3 ? Hexadecimal.bytes(String(parts[1]), count: 16) : nil
    }

    /// The beginning of the descriptions of all keys of a vault.
    static func prefix(_ vaultID: [UInt8]) -> String { "tokenkeep:\(Hexadecimal.text(vaultID)):" }
}
