/// Seals secrets under the keys of a vault, for modules whose protection is too weak for an item. Part of a call.
public protocol SecretSealer: Sendable {
    /// The id of the vault whose keys seal; nil if there is none.
    ///
    /// 32 hexadecimal digits, constant for the life of the vault.
    ///
    /// - Throws: if the vault cannot be read.
    func vaultID() throws(TokenKeepError) -> String?

    /// The id of the vault that sealed a secret, in hexadecimal digits; nil if the secret is not sealed.
    func vaultID(ofSealed secret: SecretBytes) -> String?

    /// Whether the vault seals items: it does if it has a password.
    ///
    /// - Throws: if the vault cannot be read.
    func sealsItems() throws(TokenKeepError) -> Bool

    /// Whether the call holds the item's lock, which sealing needs.
    func holds(_ name: ItemName) -> Bool

    /// Whether any module may hold items sealed under the vault's keys, noted or not. True if the vault cannot be read.
    var mayHaveSealed: Bool { get }

    /// Whether a note says that any module may hold the item sealed.
    func hasNote(of name: ItemName) -> Bool

    /// Whether a note says that `module` on this machine holds the item sealed. A plain item in its place does not
    /// count.
    ///
    /// - Throws: if the note cannot be read.
    func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool

    /// The protection that sealing achieves for a level at the moment.
    ///
    /// - Throws: if the vault cannot be read.
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection

    /// Notes and seals a secret for `module`, bound to the item's name, level and flags. The result needs no
    /// protection.
    ///
    /// - Throws: ``Status/locked`` if the key of the level is not open. ``Status/unavailable`` if the call does not
    ///   hold the item's lock: without it the keys could be replaced before the module has the secret.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Notes that a module has the secret that was sealed last, and no earlier secret.
    func acknowledge(_ name: ItemName, in module: String)

    /// Opens a sealed secret.
    ///
    /// - Throws: ``Status/locked`` if its key is not open. ``Status/corrupt`` if the secret is damaged, belongs to
    ///   another item, level or flags, or is older than the secret that `details.module` got last. Both errors name the
    ///   module `vault`.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Notes that a module no longer holds the item sealed.
    ///
    /// Without the item's lock nothing happens: the note is removed later.
    ///
    /// - Parameter everywhere: whether the item was cleared, so that the module on other machines does not hold it
    ///   either.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError)
}
