/// Seals (encrypts) secrets under the vault's keys for modules that protect an item too weakly. Each call has its own
/// sealer.
public protocol SecretSealer: Sendable {
    /// The id of the vault under whose keys secrets are sealed; nil if there is no vault.
    ///
    /// The id has 32 hexadecimal digits and does not change during the vault's life.
    ///
    /// - Throws: the error that makes the vault unreadable.
    func vaultID() throws(TokenKeepError) -> String?

    /// The id of the vault that sealed a secret, 32 hexadecimal digits; nil if the secret is not sealed.
    func vaultID(ofSealed secret: SecretBytes) -> String?

    /// Whether the vault seals items of a level: the vault has a password, or the level needs a device to which the
    /// vault is bound.
    ///
    /// - Parameter level: nil for any level.
    /// - Throws: the error that makes the vault unreadable.
    func sealsItems(of level: AccessLevel?) throws(TokenKeepError) -> Bool

    /// Whether this call holds the item's lock in the vault. Without the lock, a call cannot seal the item.
    func holds(_ name: ItemName) -> Bool

    /// Whether a module may hold an item that is sealed under the vault's keys. True if the vault cannot be read.
    var mayHaveSealed: Bool { get }

    /// Whether the vault's record of this item lists a sealed copy in any module.
    func hasSealedCopy(of name: ItemName) -> Bool

    /// Whether the vault's record of this item lists a sealed copy in this module on this machine.
    ///
    /// If true, an unsealed item of the same name in the module is not the item that TokenKeep saved.
    ///
    /// - Throws: the error of reading the record.
    func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool

    /// The protection that a sealed item of this level currently has.
    ///
    /// - Throws: the error that makes the vault unreadable.
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection

    /// Writes a description of the sealed copy into the item's record, and then seals (encrypts) the secret for
    /// `module`.
    ///
    /// The module may store the result without any protection of its own. The secret can be opened only for the same
    /// name, level and flags of the item.
    ///
    /// - Throws: ``Status/locked`` if the key of the level is locked. ``Status/unavailable`` if the call does not hold
    ///   the item's lock: without the lock, the vault's keys could be replaced before the module has the secret.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Records in the vault that the module has stored the secret that was last sealed for the module.
    ///
    /// Descriptions of earlier secrets are removed from the record.
    func acknowledge(_ name: ItemName, in module: String)

    /// Opens a sealed secret.
    ///
    /// - Throws: ``Status/locked`` if the secret's key is locked. ``Status/corrupt`` if the secret is damaged, was
    ///   sealed for another name, level or flags, or is older than the secret that the module got last. Both errors
    ///   name the module `vault`.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Removes the description of a module's sealed copy from the item's record, because the module no longer holds the
    /// copy.
    ///
    /// Does nothing if this call does not hold the item's lock; a later call that holds the lock then removes it.
    ///
    /// - Parameter everywhere: whether the sealed copies in the same module on other machines are removed, too, because
    ///   the item was cleared.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError)
}
