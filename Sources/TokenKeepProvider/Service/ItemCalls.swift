import TokenKeepCore

/// The methods of `org.freedesktop.Secret.Item`.
extension Provider {
    func callItem(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        switch message.member {
        case "GetSecret": try getSecret(path, message)
        case "SetSecret": try setSecret(path, message)
        case "Delete": try deleteItem(path, message)
        default: throw .unknownMethod("an item has no method \(message.member)")
        }
    }

    /// The item at a path. Throws `IsLocked` if the item may exist but was never read, otherwise `NoSuchObject`.
    func item(at path: ObjectPath) throws(Refusal) -> IndexedItem {
        guard case .item(let collection, let id) = path, let item = index[collection, id] else {
            guard !isUnread || !mayBeUnread(path) else { throw .isLocked }
            throw .noSuchObject("there is no item \(path.text)")
        }
        return item
    }

    /// The item at a path. Throws `IsLocked` if the item is locked.
    func openItem(at path: ObjectPath) throws(Refusal) -> IndexedItem {
        let item = try item(at: path)
        guard !isLocked(item) else { throw .isLocked("the item is locked: run tokenkeep unlock") }
        return item
    }

    /// The session at a path. Throws if the session is not the caller's.
    func session(_ path: String, of message: BusMessage) throws(Refusal) -> SecretSession {
        guard let session = clients.session(path) else { throw .noSession }
        guard session.owner == message.sender else { throw .denied("the session is another program's") }
        return session
    }

    /// Reads a secret, the structure (oayays), and decodes it.
    func secret(in message: BusMessage) throws(Refusal) -> ArrivedSecret {
        try message.enter("r", "oayays")
        let path = try message.objectPath()
        let parameters = try message.bytes()
        let value = try message.bytes()
        let contentType = try message.string()
        try message.leave()
        guard value.count <= Limits.secret + 16 else {
            throw .limit("the secret is longer than \(Limits.secret) bytes")
        }
        let secret = try session(path, of: message).decode(value, parameters: parameters)
        guard secret.count <= Limits.secret else { throw .limit("the secret is longer than \(Limits.secret) bytes") }
        return ArrivedSecret(session: path, secret: secret, contentType: contentType)
    }

    private func getSecret(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        try message.expect("o")
        let sessionPath = try message.objectPath()
        let session = try session(sessionPath, of: message)
        whenFresh(message, .reading([path])) { [self] () throws(Refusal) in
            let item = try openItem(at: path)
            guard let name = item.name else {
                guard let secret = memory[item.id] else { throw .noSuchObject("there is no item \(path.text)") }
                return reply(secret, item.contentType, session, sessionPath, message)
            }
            ask(on: item.id, for: message, { [writer] () throws(TokenKeepError) in try writer.load(name).secret }) {
                [self] in reply($0, item.contentType, session, sessionPath, message)
            }
        }
    }

    private func reply(
        _ secret: SecretBytes, _ contentType: String, _ session: SecretSession, _ path: String, _ message: BusMessage
    ) {
        bus.reply(to: message) { session.write(secret, contentType: contentType, session: path, to: $0) }
    }

    private func setSecret(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        try message.expect("(oayays)")
        let new = try secret(in: message)
        whenFresh(message, .changing(path)) { [self] () throws(Refusal) in
            let item = try openItem(at: path)
            guard let name = item.name else {
                try Provider.checkLength(contentType: new.contentType)
                try checkRoom(for: new.secret, in: item.id)
                memory[item.id] = new.secret
                put(item.changed(contentType: new.contentType))
                return bus.reply(to: message)
            }
            let (secret, contentType) = (new.secret, new.contentType)
            ask(
                on: item.id, for: message,
                { [writer] () throws(TokenKeepError) in
                    try writer.replace(name, secret, contentType: contentType)
                }
            ) { [self] details in
                wrote(name, details)
                bus.reply(to: message)
            }
        }
    }

    private func deleteItem(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        try message.expect("")
        whenFresh(message, .changing(path)) { [self] () throws(Refusal) in
            let item = try openItem(at: path)
            guard let name = item.name else {
                drop(item)
                return bus.reply(to: message) { $0.path(ObjectPath.none) }
            }
            ask(on: item.id, for: message, { [writer] () throws(TokenKeepError) in try writer.remove(name) }) {
                [self] _ in
                wrote(name, nil)
                bus.reply(to: message) { $0.path(ObjectPath.none) }
            }
        }
    }

    // MARK: changes of properties

    /// Sets the label of an item.
    func setLabel(_ label: String, of path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        let item = try openItem(at: path)
        guard let name = item.name else {
            try Provider.checkLength(ofLabel: label)
            put(item.changed(label: label))
            return bus.reply(to: message)
        }
        ask(
            on: item.id, for: message,
            { [writer] () throws(TokenKeepError) in
                try writer.describe(name, label: label)
            }
        ) { [self] details in
            wrote(name, details)
            bus.reply(to: message)
        }
    }

    /// Sets the attributes of an item. The item keeps its path.
    func setAttributes(_ attributes: [String: String], of path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        let item = try openItem(at: path)
        let fields: LookupFields
        do throws(TokenKeepError) {
            fields = try LookupFields(attributes: attributes, contentType: item.contentType)
        } catch {
            throw Refusal(error)
        }
        guard let name = item.name else {
            put(item.changed(attributes: attributes))
            return bus.reply(to: message)
        }
        let move = Provider.move(item, name, to: attributes)
        let target = try? move.get()
        if let target {
            // Refuse a move to a record to which another item is being moved. Otherwise the slower move would silently
            // replace the item of the faster move.
            guard moving[target] == nil || moving[target] == name else {
                throw .alreadyExists("another item is getting these attributes")
            }
            moving[target] = name
        }
        // If policy forbids the record `target`, the item gets this separate record instead.
        let own = try? Provider.reservedName(item.collection, item.id).get()
        if let own { moving[own] = name }
        run(
            on: item.id, for: message.sender,
            { [writer] in Provider.move(item, name, move, fields, writer) },
            then: { [self] result in moved(name, [target, own].compactMap(\.self), result, message) })
    }

    private static func move(
        _ item: IndexedItem, _ name: ItemName, _ move: Result<ItemName, TokenKeepError>, _ fields: LookupFields,
        _ writer: VaultWriter
    ) -> Result<ItemDetails, TokenKeepError> {
        do throws(TokenKeepError) {
            do throws(TokenKeepError) {
                return .success(try writer.move(name, to: move.get(), fields, id: item.id))
            } catch {
                // Clients cannot use an item that needs the password at each use, so the moved item gets a record of
                // its own.
                guard error.status == .policy else { throw error }
                let own = try reservedName(item.collection, item.id).get()
                return .success(try writer.move(name, to: own, fields, id: item.id))
            }
        } catch {
            return .failure(error)
        }
    }

    private func moved(
        _ name: ItemName, _ targets: [ItemName], _ result: Result<ItemDetails, TokenKeepError>, _ message: BusMessage
    ) {
        switch result {
        case .success(let details):
            // Put the new record into the index before the old record is removed. The item keeps its path, so clients
            // see a change and no deletion.
            moving[details.name] = name
            wrote(details.name, details)
            for target in targets + [details.name] { moving[target] = nil }
            if details.name != name { wrote(name, nil) }
            bus.reply(to: message)
        case .failure(let error):
            for target in targets { moving[target] = nil }
            if index.item(named: name) == nil { readAgain(name) }
            if error.status != .locked { report(error, message) }
            bus.fail(message, Refusal(error))
        }
    }

    /// Puts an item back into the index. Called after a failed move, because the index may have lost the item's record.
    private func readAgain(_ name: ItemName) {
        run(on: ItemMapping.id(of: name), { [writer] in try? writer.load(name).details }) { [self] details in
            if let details { wrote(name, details) }
        }
    }

    /// Chooses the record for an item's new attributes.
    ///
    /// In the collection `login`, it is the record that `tokenkeep` finds by these attributes, if the attributes name
    /// such a record. Otherwise it is a record that only this item uses.
    private static func move(
        _ item: IndexedItem, _ name: ItemName, to attributes: [String: String]
    ) -> Result<ItemName, TokenKeepError> {
        if item.collection == IndexedCollection.login {
            if let shared = ItemMapping.sharedName(of: attributes) { return .success(shared) }
            let keepsName =
                attributes["service"] == name.service && attributes["username"] == name.account
                && item.attributes["tokenkeep:namespace"] == attributes["tokenkeep:namespace"]
            if name.namespace.isEmpty, keepsName, attributes["tokenkeep:namespace"] != nil { return .success(name) }
        }
        return reservedName(item.collection, item.id)
    }
}

extension IndexedItem {
    /// A changed copy of an item of the collection `session`, with the present time and a new version.
    func changed(
        label: String? = nil, attributes: [String: String]? = nil, contentType: String? = nil
    ) -> IndexedItem {
        IndexedItem(
            collection: collection, id: id, name: name, label: label ?? self.label,
            attributes: attributes ?? self.attributes, contentType: contentType ?? self.contentType, created: created,
            modified: UInt64(clamping: UnixTime.now.rawValue), level: level, version: version + 1)
    }
}
