/// Seals (encrypts) secrets under the vault's keys, for modules that protect an item too weakly. Each call has a sealer
/// of its own.
public protocol SecretSealer: Sendable {
    /// The id of the vault under whose keys secrets are sealed; nil if there is no vault.
    ///
    /// The id has 32 hexadecimal digits, and stays the same while the vault exists.
    ///
    /// - Throws: the reason why the vault cannot be read.
    func vaultID() throws(TokenKeepError) -> String?

    /// The id of the vault that sealed a secret, in hexadecimal digits; nil if the secret is not sealed.
    func vaultID(ofSealed secret: SecretBytes) -> String?

    /// Whether the vault seals items of a level: it has a password, or it is bound to a device that the level needs.
    ///
    /// - Parameter level: nil for any level.
    /// - Throws: the reason why the vault cannot be read.
    func sealsItems(of level: AccessLevel?) throws(TokenKeepError) -> Bool

    /// Whether this call holds the item's lock in the vault. A call without the lock cannot seal the item.
    func holds(_ name: ItemName) -> Bool

    /// Whether any module may hold an item sealed under the vault's keys. True if the vault cannot be read.
    var mayHaveSealed: Bool { get }

    /// Whether the vault's record of this item names a sealed copy in a module.
    func hasSealedCopy(of name: ItemName) -> Bool

    /// Whether the vault's record of this item names a sealed copy in this module on this machine.
    ///
    /// If so, an unsealed item of the same name in the module is not the item that TokenKeep saved.
    ///
    /// - Throws: if the record cannot be read.
    func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool

    /// The protection that a sealed item of this level has at the moment.
    ///
    /// - Throws: the reason why the vault cannot be read.
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection

    /// Seals (encrypts) a secret for `module`, and first writes this sealed copy into the item's record.
    ///
    /// The module may store the result without any protection of its own.
    ///
    /// A sealed secret can be opened only with the same name, level and flags of the item.
    ///
    /// - Throws: ``Status/locked`` if the key of the level is locked. ``Status/unavailable`` if the call does not hold
    ///   the item's lock, because the vault's keys could be replaced before the module has the secret.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Writes into the item's record that the module stored the secret last sealed for it, in place of every earlier
    /// secret.
    func acknowledge(_ name: ItemName, in module: String)

    /// Opens a sealed secret.
    ///
    /// - Throws: ``Status/locked`` if the secret's key is locked. ``Status/corrupt`` if the secret is damaged, was
    ///   sealed for another name, level or flags, or is older than the secret that the module got last. Both errors
    ///   name the module `vault`.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Removes a module's sealed copy from the item's record, because the module no longer holds it.
    ///
    /// Does nothing if this call does not hold the item's lock. A later call that holds the lock does it.
    ///
    /// - Parameter everywhere: whether the sealed copies of the module on other machines are removed too, because the
    ///   item was cleared.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError)
}
