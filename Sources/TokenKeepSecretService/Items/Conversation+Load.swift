import TokenKeepCore

extension Conversation {
    /// The item with its secret.
    func load(_ name: ItemName, _ key: ItemVersionKey) throws(TokenKeepError) -> TokenItem {
        let findings = try find(name, secret: true)
        guard let item = findings.best else {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        return try read(item, as: name, findings.secret, key)
    }

    /// Joins a stored item and its secret, which is fetched unless `fetched` is it.
    func read(
        _ item: StoredItem, as name: ItemName, _ fetched: (path: ObjectPath, reply: Reply)?, _ key: ItemVersionKey
    ) throws(TokenKeepError) -> TokenItem {
        let reply: Reply
        if let fetched, fetched.path == item.path {
            reply = fetched.reply
        } else {
            reply = try exchange(getSecret(item.path))
        }
        if reply.isMissingObject { throw TokenKeepError(.notFound, "no item \(name)") }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "load", name.description) }
        var details = try ItemCoding.details(of: item, name: name, module: module)
        let secret = try plain(try link.decode(body[0], in: arena), of: item)
        guard secret.count <= Limits.secret else {
            throw TokenKeepError(.corrupt, "the secret of \(name) is larger than \(Limits.secret) bytes")
        }
        details.version = key.version(of: details, secret: secret)
        return TokenItem(details: details, secret: secret)
    }

    private func plain(_ stored: SecretBytes, of item: StoredItem) throws(TokenKeepError) -> SecretBytes {
        switch item.attributes[AttributeNames.encoding] {
        case nil: return stored
        case StoredValue.base64: return try StoredValue.decode(stored, in: arena)
        default: throw TokenKeepError(.corrupt, "the stored secret is in an encoding that this version does not know")
        }
    }
}
