/// Seals secrets under the keys of a vault, for modules that give an item less than it asks.
public protocol SecretSealer: Sendable {
    /// Whose keys seal: 32 hexadecimal digits that stay the same as long as the vault does; nil where there is none that
    /// can be read.
    var vaultID: String? { get }

    /// Whether anything may have been sealed for another module.
    var mayHaveSealed: Bool { get }

    /// What sealing achieves for a level, as the vault is now; nil where it cannot be read.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection?

    /// Seals a secret for `module`, bound to the item's name, level and flags. What is returned may lie anywhere.
    ///
    /// To be called while no other process can replace the vault's keys: under the item's lock.
    ///
    /// - Throws: ``Status/locked`` where the key of the level is not there.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Opens what was sealed.
    ///
    /// - Throws: ``Status/locked`` where its key is not there, ``Status/corrupt`` where it is another item's, of another level
    ///   or other flags, or damaged.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes
}
