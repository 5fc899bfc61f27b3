import TokenKeepCore

extension Conversation {
    /// The item with its secret.
    func load(_ name: ItemName, _ key: ItemVersionKey) throws(TokenKeepError) -> TokenItem {
        if let unchanged = try loadUnchanged(name, key) { return unchanged }
        let findings = try find(name, secret: true)
        guard let item = findings.best else {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        let loaded = try read(item, as: name, findings.secret, key)
        if findings.ours.first != nil, !findings.hasCopies {
            link.paths[name] = PathCache.Entry(
                path: item.path, item: item, version: loaded.details.version,
                freshUntil: Deadline(milliseconds: Conversation.freshMilliseconds))
        }
        return loaded
    }

    /// How long a label and dates are taken as they were while secret and attributes have not changed.
    private static let freshMilliseconds: UInt32 = 2000

    /// The item, where it was loaded a moment ago and has the same secret and attributes still; nil where it must be
    /// read anew. Reading all properties of an item takes the service longer the more items it has.
    private func loadUnchanged(_ name: ItemName, _ key: ItemVersionKey) throws(TokenKeepError) -> TokenItem? {
        guard let entry = link.paths[name], var item = entry.item, !entry.freshUntil.hasPassed else { return nil }
        let attributes = properties(
            entry.path, "Get", [.string(Conversation.itemInterface), .string("Attributes")], answerType: "(v)")
        var calls = [attributes, getSecrets(entry.path)]
        if name.namespace.isEmpty { calls.append(searchItems(ItemCoding.search(for: name))) }
        let replies = try exchange(calls)
        if calls.count == 3, hasCopies(replies[2], of: entry.path) { return nil }
        guard case .answer(let body) = replies[0], let present = body[0].content.flatMap(StoredItem.strings) else {
            return nil
        }
        item.attributes = present
        guard item.isOurs(name), case .answer = replies[1],
            let loaded = try? read(item, as: name, (entry.path, replies[1]), key)
        else { return nil }
        return loaded.details.version == entry.version ? loaded : nil
    }

    /// Joins a stored item and its secret, which is fetched unless `fetched` is it.
    func read(
        _ item: StoredItem, as name: ItemName, _ fetched: (path: ObjectPath, reply: Reply)?, _ key: ItemVersionKey
    ) throws(TokenKeepError) -> TokenItem {
        let encoded = try encodedSecret(of: item, as: name, fetched?.path == item.path ? fetched?.reply : nil)
        var details = try ItemCoding.details(of: item, name: name, module: module)
        let secret = try plain(try link.decode(encoded, in: arena), of: item)
        guard secret.count <= Limits.secret else {
            throw TokenKeepError(.corrupt, "the secret of \(name) is larger than \(Limits.secret) bytes")
        }
        details.version = key.version(of: details, secret: secret)
        return TokenItem(details: details, secret: secret)
    }

    /// - Parameter fetched: the answer to ``getSecrets(_:)``; where the secret is not in it, it is asked for alone.
    private func encodedSecret(
        of item: StoredItem, as name: ItemName, _ fetched: Reply?
    ) throws(TokenKeepError) -> Variant {
        let reply: Reply
        switch fetched {
        case .answer(let body) where body[0].count == 1 && body[0][0][0].text == item.path.text:
            return body[0][0][1]
        case nil, .answer:
            reply = try exchange(getSecret(item.path))
        case .some(let failure):
            reply = failure
        }
        if try isGone(reply, item.path, of: ItemCoding.search(for: name), subject: name.description) {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "load", name.description) }
        return body[0]
    }

    private func plain(_ stored: SecretBytes, of item: StoredItem) throws(TokenKeepError) -> SecretBytes {
        switch item.attributes[AttributeNames.encoding] {
        case nil where StoredValue.isEncoded(stored):
            // A save that was cut short before the attribute.
            return (try? StoredValue.decode(stored, in: arena)) ?? stored
        case StoredValue.base64 where StoredValue.isEncoded(stored): return try StoredValue.decode(stored, in: arena)
        case nil, StoredValue.base64: return stored
        default: throw TokenKeepError(.corrupt, "the stored secret is in an encoding that this version does not know")
        }
    }
}
