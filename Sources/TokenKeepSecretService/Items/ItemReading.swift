import TokenKeepCore

/// Reads the items that have one name, with their secrets.
struct ItemReading: ServicePart {
    let whole: ServiceCall
    /// Computes the versions of items.
    let key: ItemVersionKey

    /// Loads an item from the cache if the item is unchanged; otherwise from the service.
    func load(_ name: ItemName) throws(TokenKeepError) -> TokenItem {
        if let unchanged = try loadUnchanged(name), unchanged.details.isSealed || !sealing.hasSealedCopy(of: name) {
            return unchanged
        }
        let changes = link.itemChanges
        let findings = try search.find(name, secret: true)
        guard let item = try answer(findings, name) else {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        let loaded = try read(item, as: name, findings.secrets)
        if findings.ours.first != nil, !findings.hasCopies {
            link.paths[name] = PathCache.Entry(
                path: item.path, item: item, version: loaded.details.version,
                freshUntil: Deadline(
                    milliseconds: changes == nil
                        ? ItemReading.unchangedMilliseconds : ItemReading.untouchedMilliseconds),
                changes: changes)
        }
        return loaded
    }

    /// The item that a load returns; nil if there is none.
    ///
    /// If TokenKeep gave the service a sealed item, only a sealed item counts: a plain item beside the sealed item is
    /// ignored, and a plain item alone is an error.
    func answer(_ findings: Findings, _ name: ItemName) throws(TokenKeepError) -> StoredItem? {
        guard try sealing.isHeldSealed(name, in: module) else { return findings.best }
        if let sealed = findings.ours.first(where: { $0.sealedBy != nil }) { return sealed }
        guard findings.best != nil else { return nil }
        throw .standsInPlace(ofSealed: name)
    }

    /// The foreign items of this name, even if a load would return TokenKeep's item.
    func foreignItems(_ name: ItemName) throws(TokenKeepError) -> [TokenItem] {
        guard name.namespace.isEmpty else { return [] }
        let findings = try search.findEverywhere(name, secret: true)
        guard findings.locked.isEmpty else { throw ServiceFailure.locked(name.description) }
        var items: [TokenItem] = []
        for item in findings.foreign { items.append(try read(item, as: name, findings.secrets)) }
        return items
    }

    /// The lifetime of a cached label and cached dates, in milliseconds, while the secret and the attributes are
    /// unchanged.
    private static let unchangedMilliseconds: UInt32 = 2000
    /// The lifetime of cached label, dates and attributes, in milliseconds, while the service signals no change.
    ///
    /// The lifetime is limited because a service may signal only some changes.
    static let untouchedMilliseconds: UInt32 = 10000

    /// The item from the cache, if its secret and attributes are unchanged; nil if it must be read again.
    ///
    /// This check is faster than reading the item again: the time of a search, or of reading all properties, grows with
    /// the number of the service's items.
    private func loadUnchanged(_ name: ItemName) throws(TokenKeepError) -> TokenItem? {
        guard let entry = link.paths[name], let item = entry.item, !entry.freshUntil.hasPassed else { return nil }
        guard entry.changes == nil else { return try loadUntouched(name, entry, item) }
        var calls = [attributes(entry.path), getSecrets([entry.path])]
        if name.namespace.isEmpty { calls += sealing.searches(for: name).map(searchItems) }
        let replies = try exchange(calls)
        if calls.count > 2, search.hasCopies(replies.dropFirst(2), of: entry.path) { return nil }
        guard case .answer(let body) = replies[0], let present = body[0].content.flatMap(StoredItem.strings) else {
            return nil
        }
        var same = item
        same.attributes = present
        return try search.isOurs(same, name) ? loaded(same, as: name, of: entry, replies[1]) : nil
    }

    /// The item from the cache if the service has signalled no change of items; nil if the item must be read again.
    ///
    /// Reads only the secret, because services do not always signal a changed secret.
    private func loadUntouched(
        _ name: ItemName, _ entry: PathCache.Entry, _ item: StoredItem
    ) throws(TokenKeepError) -> TokenItem? {
        guard link.isUntouched(entry) else { return nil }
        let reply = try exchange(getSecrets([entry.path]))
        // The signals that the service sent before this reply have arrived by now, so `isUntouched` considers them.
        return link.isUntouched(entry) ? try loaded(item, as: name, of: entry, reply) : nil
    }

    /// Combines a cached item with its secret; nil if the item's version has changed.
    private func loaded(
        _ item: StoredItem, as name: ItemName, of entry: PathCache.Entry, _ secrets: Reply
    ) throws(TokenKeepError) -> TokenItem? {
        guard secrets.isAnswer, let loaded = try? read(item, as: name, secrets) else { return nil }
        return loaded.details.version == entry.version ? loaded : nil
    }

    /// Combines a stored item with its secret. Fetches the secret if `fetched` does not contain it.
    func read(
        _ item: StoredItem, as name: ItemName, _ fetched: Reply?
    ) throws(TokenKeepError) -> TokenItem {
        var details = try ItemCoding.details(of: item, name: name, module: module)
        let stored = try storedSecret(of: item, as: name, fetched)
        let secret = item.sealedBy == nil ? stored : try opened(stored, item, details)
        guard secret.count <= Limits.secret else {
            throw TokenKeepError(.corrupt, "the secret of \(name) is larger than \(Limits.secret) bytes")
        }
        details.version = key.version(of: details, secret: secret)
        return TokenItem(details: details, secret: secret)
    }

    /// Opens a sealed secret. If that fails, fetches the secret once more, because another process may just have sealed
    /// it again under a new key.
    private func opened(
        _ sealed: SecretBytes, _ item: StoredItem, _ details: ItemDetails
    ) throws(TokenKeepError) -> SecretBytes {
        do throws(TokenKeepError) {
            return try sealing.open(sealed, of: details, call)
        } catch {
            guard error.status == .corrupt else { throw error }
        }
        return try sealing.open(try storedSecret(of: item, as: details.name, nil), of: details, call)
    }

    private func storedSecret(
        of item: StoredItem, as name: ItemName, _ fetched: Reply?
    ) throws(TokenKeepError) -> SecretBytes {
        try plain(try decode(try encodedSecret(of: item, as: name, fetched)), of: item)
    }

    /// The encoded secret of an item.
    ///
    /// - Parameter fetched: the reply to ``getSecrets(_:)``. If the secret is not in this reply, it is fetched
    ///   separately.
    private func encodedSecret(
        of item: StoredItem, as name: ItemName, _ fetched: Reply?
    ) throws(TokenKeepError) -> Variant {
        let reply: Reply
        switch fetched {
        case .answer(let body):
            if let entry = body[0].children.first(where: { $0[0].text == item.path.text }) { return entry[1] }
            reply = try exchange(getSecret(item.path))
        case nil: reply = try exchange(getSecret(item.path))
        case .some(let failure): reply = failure
        }
        if try search.isGone(reply, item.path, of: sealing.searches(for: name), subject: name.description) {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "load", name.description) }
        return body[0]
    }

    private func plain(_ stored: SecretBytes, of item: StoredItem) throws(TokenKeepError) -> SecretBytes {
        // TokenKeep never stores an empty text, so the service lost the secret: a killed KWallet can lose secrets but
        // keep attributes.
        if stored.count == 0, item.attributes[AttributeNames.namespace] != nil {
            throw TokenKeepError(.corrupt, "the Secret Service lost the secret of this item", hint: "save it anew")
        }
        switch item.attributes[AttributeNames.encoding] {
        case nil where StoredValue.isEncoded(stored):
            // The text is encoded but the attribute that marks the encoding is missing, because a save was interrupted
            // before it set the attribute.
            return (try? StoredValue.decode(stored)) ?? stored
        case StoredValue.base64 where StoredValue.isEncoded(stored): return try StoredValue.decode(stored)
        case nil, StoredValue.base64: return stored
        default: throw TokenKeepError(.corrupt, "the stored secret is in an encoding that this version does not know")
        }
    }
}
