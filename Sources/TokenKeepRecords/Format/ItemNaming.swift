package import TokenKeepCore
package import TokenKeepKeys

extension KeyRing {
    /// The file name of an item's record under the vault's current keys, as 16 bytes.
    package func fileName(of name: ItemName) -> [UInt8] {
        NameFormat.serialized(name).withUnsafeBytes { parts in
            names.withUnsafeBytes { KeyedHash.digest(of: parts, key: $0, count: 16) }
        }
    }
}

extension JournalKeys {
    /// The 16-byte ID of an item, which stays the same when the vault's keys are replaced.
    ///
    /// The ID selects the byte of the lock file that locks the item, and identifies the item in other modules.
    package func id(of name: ItemName) -> [UInt8] { id(of: NameFormat.serialized(name)) }
}
