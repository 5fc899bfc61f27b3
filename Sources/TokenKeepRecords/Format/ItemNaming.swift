package import TokenKeepCore
package import TokenKeepKeys

extension KeyRing {
    /// The binary file name of an item's record in this era.
    package func fileName(of name: ItemName) -> [UInt8] {
        NameFormat.serialized(name).withUnsafeBytes { parts in
            names.withUnsafeBytes { KeyedHash.digest(of: parts, key: $0, count: 16) }
        }
    }
}

extension JournalKeys {
    /// An item's ID, the same in every era. It selects the item's lock, and names the item in other modules.
    package func id(of name: ItemName) -> [UInt8] { id(of: NameFormat.serialized(name)) }
}
