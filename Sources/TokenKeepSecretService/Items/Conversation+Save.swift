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
        let isOurs = !findings.ours.isEmpty
        if let target, let attributes = target.attributes(for: details, isEncoded: isEncoded, isOurs: isOurs) {
            mark.hasWritten = true
            link.paths[name] = nil
            try replace(target, attributes, among: findings, by: details, secret, isEncoded: isEncoded)
        } else {
            // Where the old item will not go without a question, a new one must not stand beside it.
            if target?.isKeePassXCs == true, !call.promptsAllowed {
                throw ServiceFailure.asksBeforeDeleting("the present item \(name), which this save must")
            }
            mark.hasWritten = true
            link.paths[name] = nil
            let path = try create(details, secret, isEncoded: isEncoded)
            if let target { try remove([target] + findings.ours.filter { $0.path != target.path }, name) }
            link.paths[name] = path.map { PathCache.Entry(path: $0) }
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
        _ target: StoredItem, _ attributes: [String: String], among findings: Findings, by details: ItemDetails,
        _ secret: Variant, isEncoded: Bool
    ) throws(TokenKeepError) {
        let name = details.name
        for twin in findings.ours.isEmpty ? [] : findings.foreign {
            let attributes = ItemCoding.attributes(of: details, isEncoded: isEncoded, over: twin)
            try overwrite(twin, secret, attributes, label: twin.label, of: name, mayBeGone: true)
        }
        try overwrite(target, secret, attributes, label: details.label, of: name, mayBeGone: false)
        guard !findings.ours.isEmpty else { return }
        if findings.foreign.isEmpty { link.paths[name] = PathCache.Entry(path: target.path) }
        try remove(findings.ours.filter { $0.path != target.path }, name)
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
        if !target.hasExactly(attributes) {
            changes.append(set("Attributes", .strings(target.settable(attributes)), of: target.path))
        }
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
        let reason: PromptReason = try createsUnasked(subject) ? .nothing : .unlocking
        return try complete(prompt, for: subject, reason: reason)?.text.flatMap(ObjectPath.init)
    }

    /// Whether the service makes a new item a prompt that shows nothing: KeePassXC does, while its database is open.
    private func createsUnasked(_ subject: String) throws(TokenKeepError) -> Bool {
        guard !call.promptsAllowed, try link.isKeePassXC(until: deadline) else { return false }
        return try !isDefaultCollectionLocked(for: subject)
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
