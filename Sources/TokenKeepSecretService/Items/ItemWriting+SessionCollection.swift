import TokenKeepCore

/// Handles the session collection, which is deleted at the end of the login, so that an item saved there would be lost.
extension ItemWriting {
    /// The path that gnome-keyring and oo7 give their session collection.
    private static let sessionCollection = "/org/freedesktop/secrets/collection/session"

    /// Whether an item is in the service's session collection.
    ///
    /// A collection at that path may also be a permanent collection named "session", for example a database of
    /// KeePassXC. The service's alias `session` therefore decides.
    func isFleeting(_ path: ObjectPath) throws(TokenKeepError) -> Bool {
        guard path.text.hasPrefix(ItemWriting.sessionCollection + "/") else { return false }
        if let known = link.hasSessionCollection { return known }
        let reply = try exchange(service("ReadAlias", [.string("session")], answerType: "(o)"))
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "find", "the session keyring") }
        let isThere = body[0].text == ItemWriting.sessionCollection
        link.noteSessionCollection(isThere)
        return isThere
    }

    /// Separates the items outside the session collection from TokenKeep's items in that collection.
    func lasting(_ findings: Findings) throws(TokenKeepError) -> (findings: Findings, fleeting: [StoredItem]) {
        var (lasting, fleeting) = (findings, [StoredItem]())
        lasting.ours = []
        lasting.foreign = []
        for item in findings.ours {
            if try isFleeting(item.path) { fleeting.append(item) } else { lasting.ours.append(item) }
        }
        for item in findings.foreign where try !isFleeting(item.path) { lasting.foreign.append(item) }
        return (lasting, fleeting)
    }

    /// Removes a new item if the service made it in the session collection, because that is the default collection.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, if the item was in the session collection.
    func refuseFleeting(_ path: ObjectPath, _ subject: String) throws(TokenKeepError) {
        guard try isFleeting(path) else { return }
        _ = try answer(item(path, "Delete", answerType: "(o)"), to: "clear", subject)
        mark.hasWritten = false
        throw TokenKeepError(
            .unavailable, "the default keyring of the Secret Service is its session keyring, which ends with the login",
            hint: "make a keyring in the keyring's own program, and make it the default", isAbsence: true)
    }
}
