import TokenKeepCore

/// Counts what was sent that changes something: what may have been done must not blindly be done again.
final class WriteMark {
    var hasWritten = false
}

extension Conversation {
    /// Saves an item in place of the one that is there; returns its version.
    func save(_ request: SaveRequest, _ key: ItemVersionKey, _ mark: WriteMark) throws(TokenKeepError) -> UInt64 {
        let name = request.name
        let needsPresent = request.precondition != .none
        let findings = try find(name, secret: needsPresent, copies: true)
        if needsPresent {
            let present = try findings.best.map { (item) throws(TokenKeepError) in
                try read(item, as: name, findings.secret, key).details
            }
            try request.check(present: present)
        }
        let target = findings.ours.first ?? findings.foreign.first
        let present = target.flatMap { presentDetails(of: $0, for: request) }
        var details = request.details(replacing: present, module: module)
        if let target, findings.ours.isEmpty, request.label == name.defaultLabel { details.label = target.label }
        let isEncoded = StoredValue.needsEncoding(request.secret)
        let stored = isEncoded ? try StoredValue.encode(request.secret, in: arena) : request.secret
        let secret = try link.encode(stored)
        mark.hasWritten = true
        link.paths[name] = nil
        if target != nil {
            try replace(findings, by: details, secret, isEncoded: isEncoded)
        } else {
            link.paths[name] = try create(details, secret, isEncoded: isEncoded).map { PathCache.Entry(path: $0) }
        }
        details.version = key.version(of: details, secret: request.secret)
        return details.version
    }

    /// The details whose level, flags and date a save may keep; an item that cannot be read is replaced all the same.
    private func presentDetails(of item: StoredItem, for request: SaveRequest) -> ItemDetails? {
        try? ItemCoding.details(of: item, name: request.name, module: module)
    }

    /// Writes over ours, else over the newest of the other programs'. Their twins of ours get the same value, and get it
    /// first: what is written later counts.
    private func replace(
        _ findings: Findings, by details: ItemDetails, _ secret: Variant, isEncoded: Bool
    ) throws(TokenKeepError) {
        let name = details.name
        for foreign in findings.ours.isEmpty ? Array(findings.foreign.prefix(1)) : findings.foreign {
            let attributes = ItemCoding.attributes(of: details, isEncoded: isEncoded, over: foreign)
            let label = findings.ours.isEmpty ? details.label : foreign.label
            try overwrite(foreign, secret, attributes, label: label, of: name, mayBeGone: !findings.ours.isEmpty)
        }
        guard let ours = findings.ours.first else { return }
        let attributes = ItemCoding.merged(ItemCoding.attributes(of: details, isEncoded: isEncoded), over: ours)
        try overwrite(ours, secret, attributes, label: details.label, of: name, mayBeGone: false)
        if findings.foreign.isEmpty { link.paths[name] = PathCache.Entry(path: ours.path) }
        try remove(Array(findings.ours.dropFirst()), name)
    }

    /// The secret first: a new expiry must never stand beside an old token.
    private func overwrite(
        _ target: StoredItem, _ secret: Variant, _ attributes: [String: String], label: String, of name: ItemName,
        mayBeGone: Bool
    ) throws(TokenKeepError) {
        let subject = name.description
        let reply = try exchange(item(target.path, "SetSecret", [secret]))
        if mayBeGone, try isGone(reply, target.path, of: ItemCoding.search(for: name), subject: subject) { return }
        guard case .answer = reply else { throw ServiceFailure.error(reply, "save", subject) }
        var changes: [MethodCall] = []
        if !target.hasExactly(attributes) { changes.append(set("Attributes", .strings(attributes), of: target.path)) }
        if !label.utf8.elementsEqual(target.label.utf8) {
            changes.append(set("Label", .string(label), of: target.path))
        }
        guard !changes.isEmpty else { return }
        for reply in try exchange(changes) {
            guard case .answer = reply else { throw ServiceFailure.error(reply, "save the attributes of", subject) }
        }
    }

    private func set(_ property: String, _ value: Variant, of path: ObjectPath) -> MethodCall {
        properties(path, "Set", [.string(Conversation.itemInterface), .string(property), .variant(value)])
    }

    private func create(
        _ details: ItemDetails, _ secret: Variant, isEncoded: Bool
    ) throws(TokenKeepError) -> ObjectPath? {
        let subject = details.name.description
        let attributes = ItemCoding.attributes(of: details, isEncoded: isEncoded)
        let create = collection(
            "CreateItem",
            [
                .properties([
                    ("\(Conversation.itemInterface).Label", .string(details.label)),
                    ("\(Conversation.itemInterface).Attributes", .strings(attributes)),
                ]), secret, .boolean(false),
            ], answerType: "(oo)")
        var reply = try exchange(create)
        if try lacksDefaultCollection(reply) {
            try createDefaultCollection()
            reply = try exchange(create)
        }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "save", subject) }
        if let path = body[0].text.flatMap(ObjectPath.init), !path.isNone { return path }
        guard let prompt = body[1].text.flatMap(ObjectPath.init), !prompt.isNone else {
            throw TokenKeepError(.corrupt, "the Secret Service saved \(subject) and does not say where")
        }
        return try complete(prompt, for: subject)?.text.flatMap(ObjectPath.init)
    }

    /// Makes a collection where the service has none: it asks the user for a password.
    private func createDefaultCollection() throws(TokenKeepError) {
        guard call.promptsAllowed else { throw Conversation.noDefaultCollection }
        let properties = Variant.properties([("\(Conversation.collectionInterface).Label", .string("Default keyring"))])
        let body = try answer(
            service("CreateCollection", [properties, .string("default")], answerType: "(oo)"), to: "create",
            "a default keyring")
        guard let prompt = body[1].text.flatMap(ObjectPath.init) else { throw Conversation.noDefaultCollection }
        _ = try complete(prompt, for: "a default keyring")
    }
}
