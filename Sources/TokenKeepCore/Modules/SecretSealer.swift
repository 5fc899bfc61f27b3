/// Seals secrets under the keys of a vault, for modules that give an item less than it asks. A call brings it along.
public protocol SecretSealer: Sendable {
    /// The id of the vault whose keys seal: 32 hexadecimal digits, the same as long as the vault exists; nil if there is none.
    ///
    /// - Throws: why the vault cannot be read.
    func vaultID() throws(TokenKeepError) -> String?

    /// The id of the vault that sealed a secret, in the same form; nil if the secret is not a sealed one.
    func vaultID(ofSealed secret: SecretBytes) -> String?

    /// Whether the vault seals items that ask for something: it has a password.
    ///
    /// - Throws: why the vault cannot be read.
    func sealsItems() throws(TokenKeepError) -> Bool

    /// Whether the call holds the item's lock, so that its secret can be sealed.
    func holds(_ name: ItemName) -> Bool

    /// Whether a module may hold items sealed under its keys, noted or not; also if the vault cannot be read.
    var mayHaveSealed: Bool { get }

    /// Whether a note says that some module may hold the item sealed.
    func hasNote(of name: ItemName) -> Bool

    /// Whether a note says that `module` on this machine holds the item sealed: a plain one in its place is none.
    ///
    /// - Throws: if the note cannot be read.
    func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool

    /// The protection that sealing achieves for a level, as the vault is now.
    ///
    /// - Throws: why the vault cannot be read.
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection

    /// Seals a secret for `module`, bound to the item's name, level and flags, after that was noted. The result may lie
    /// anywhere.
    ///
    /// - Throws: ``Status/locked`` if the key of the level is not open, ``Status/unavailable`` if the call does not hold the
    ///   item's lock: its keys could be replaced before the module has the secret.
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Opens a sealed secret.
    ///
    /// - Throws: ``Status/locked`` if its key is not open, ``Status/corrupt`` if it is another item's, of another level or
    ///   other flags, older than the one that `details.module` was given, or damaged; both of the module `vault`.
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes

    /// Notes that a module does not hold the item sealed any more. Without the item's lock nothing is done: the note is
    /// removed later.
    ///
    /// - Parameter everywhere: whether other machines' modules do not hold it either: it was cleared.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError)
}
