/// Seals secrets under the keys of a vault, for modules that give an item less than it asks.
public protocol SecretSealer: Sendable {
    /// Whose keys seal: 32 hexadecimal digits that stay the same as long as the vault does; nil where there is no vault.
    ///
    /// - Throws: why the vault cannot be read.
    func vaultID() throws(TokenKeepError) -> String?

    /// Whether the vault seals items that ask for something: it has a password.
    ///
    /// - Throws: why the vault cannot be read.
    func sealsItems() throws(TokenKeepError) -> Bool

    /// Whether anything may be sealed under its keys, noted or not; also where the vault cannot be read.
    var mayHaveSealed: Bool { get }

    /// Whether it is noted that a module may hold the item sealed.
    func hasNote(of name: ItemName) -> Bool

    /// What sealing achieves for a level, as the vault is now.
    ///
    /// - Throws: why the vault cannot be read.
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection

    /// Seals a secret for `module`, bound to the item's name, level and flags, after that was noted. What is returned may lie
    /// anywhere.
    ///
    /// - Throws: ``Status/locked`` where the key of the level is not there, ``Status/unavailable`` where this thread does not
    ///   hold the item's lock: its keys could be replaced before the module has the secret.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Opens what was sealed.
    ///
    /// - Throws: ``Status/locked`` where its key is not there, ``Status/corrupt`` where it is another item's, of another level
    ///   or other flags, or damaged; both of the module `vault`.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Notes that a module does not hold the item sealed any more. Nothing is done where this thread does not hold the item's
    /// lock: it is noted later, or looked for in vain.
    ///
    /// - Parameter everywhere: whether on other machines neither: it was cleared.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError)
}
