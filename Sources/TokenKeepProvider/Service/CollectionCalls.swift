import TokenKeepCore
import TokenKeepKeys

/// The methods of `org.freedesktop.Secret.Collection`.
extension Provider {
    func callCollection(_ id: String, _ message: BusMessage) throws(Refusal) {
        switch message.member {
        case "CreateItem": try createItem(id, message)
        case "SearchItems": try searchItems(id, message)
        case "Delete": try deleteCollection(id, message)
        default: throw .unknownMethod("a collection has no method \(message.member)")
        }
    }

    /// The collection with this identifier.
    func collection(_ id: String) throws(Refusal) -> IndexedCollection {
        guard let collection = index.collections[id] else {
            guard !isUnread else { throw .isLocked }
            throw .noSuchObject("there is no collection \(id)")
        }
        return collection
    }

    private func searchItems(_ id: String, _ message: BusMessage) throws(Refusal) {
        try message.expect("a{ss}")
        let attributes = try message.strings()
        whenFresh(message, .searching(id)) { [self] () throws(Refusal) in
            _ = try collection(id)
            let found = index.search(attributes, in: id)
            guard !found.isEmpty || !isLocked(collection: id) else { throw .isLocked }
            bus.reply(to: message) { $0.paths(found.map(\.path.text)) }
        }
    }

    private func deleteCollection(_ id: String, _ message: BusMessage) throws(Refusal) {
        try message.expect("")
        whenFresh(message, .changing(collection: id)) { [self] () throws(Refusal) in
            let own = try recordName(of: collection(id))
            guard !IndexedCollection.fixed.contains(where: { $0.id == id }) else {
                throw .notSupported("the collection \(id) cannot be deleted")
            }
            guard !isLocked else { throw .isLocked }
            let names = index.items(of: id).compactMap(\.name) + [own]
            ask(
                on: id, for: message,
                { [writer] () throws(TokenKeepError) in
                    for name in names { _ = try writer.remove(name) }
                }
            ) { [self] _ in
                for name in names { wrote(name, nil) }
                bus.reply(to: message) { $0.path(ObjectPath.none) }
            }
        }
    }

    /// The arguments of a `CreateItem` call.
    private struct NewItem {
        var label = ""
        var attributes: [String: String] = [:]
        var secret: ArrivedSecret
        var replaces = false
    }

    private func createItem(_ id: String, _ message: BusMessage) throws(Refusal) {
        try message.expect("a{sv}(oayays)b")
        var new = try readItem(message)
        new.replaces = try message.bool()
        whenFresh(message, self.scope(of: new, in: id)) { [self] () throws(Refusal) in
            _ = try collection(id)
            let lookup = try fields(new)
            guard id != IndexedCollection.session else { return try createInMemory(new, message) }
            guard !isLocked else { throw .isLocked }
            save(new, lookup, in: id, message)
        }
    }

    private func scope(of new: NewItem, in collection: String) -> CallScope {
        let before = new.replaces ? index.item(withExactly: new.attributes, in: collection)?.id : nil
        let shared = collection == IndexedCollection.login ? ItemMapping.sharedName(of: new.attributes) : nil
        let pair = shared.map { index.item(named: $0)?.id ?? ItemMapping.id(of: $0) }
        let key = Provider.creationKey(new.attributes, collection)
        return .creating(in: collection, key, [before, pair].compactMap(\.self))
    }

    private func readItem(_ message: BusMessage) throws(Refusal) -> NewItem {
        var label = ""
        var attributes: [String: String] = [:]
        var type: String?
        try message.properties { (name, signature) throws(Refusal) in
            switch (name, signature) {
            case ("\(Interfaces.item).Label", "s"): label = try message.string()
            case ("\(Interfaces.item).Attributes", "a{ss}"): attributes = try message.strings()
            case ("\(Interfaces.item).Type", "s"): type = try message.string()
            case ("\(Interfaces.item).Label", _), ("\(Interfaces.item).Attributes", _), ("\(Interfaces.item).Type", _):
                throw .invalid("the property \(name) is of the type \(signature)")
            default: try message.skip(signature)
            }
        }
        if let type, !type.isEmpty, attributes["xdg:schema"] == nil { attributes["xdg:schema"] = type }
        return NewItem(label: label, attributes: attributes, secret: try secret(in: message))
    }

    private func fields(_ new: NewItem) throws(Refusal) -> LookupFields {
        do throws(TokenKeepError) {
            return try LookupFields(
                attributes: new.attributes, contentType: new.secret.contentType,
                label: new.label.utf8.count > LookupFields.labelLength ? new.label : nil)
        } catch {
            throw Refusal(error)
        }
    }

    /// The maximum numbers of items and of secret bytes in the collection `session`, which is in locked memory.
    private static let sessionItems = 10_000
    private static let sessionBytes = 16 << 20

    /// Throws if the collection `session` has no room for a secret of the item `id`.
    func checkRoom(for secret: SecretBytes, in id: String) throws(Refusal) {
        let others = memory.reduce(0) { $0 + ($1.key == id ? 0 : $1.value.count) }
        guard others + secret.count <= Provider.sessionBytes, memory[id] != nil || memory.count < Provider.sessionItems
        else { throw .limit("the collection session is full") }
    }

    /// Throws if a label or content type exceeds the vault's limits. They apply to the collection `session` as well.
    static func checkLength(ofLabel label: String = "", contentType: String = "") throws(Refusal) {
        do throws(TokenKeepError) {
            _ = try LookupFields(attributes: [:], contentType: contentType, label: label)
        } catch {
            throw Refusal(error)
        }
    }

    private func createInMemory(_ new: NewItem, _ message: BusMessage) throws(Refusal) {
        let collection = IndexedCollection.session
        let before = new.replaces ? index.item(withExactly: new.attributes, in: collection) : nil
        let id = before?.id ?? Hexadecimal.text(Provider.randomBytes(16))
        try checkRoom(for: new.secret.secret, in: id)
        memory[id] = new.secret.secret
        let now = UInt64(clamping: UnixTime.now.rawValue)
        put(
            IndexedItem(
                collection: collection, id: id, name: nil, label: new.label, attributes: new.attributes,
                contentType: new.secret.contentType, created: before?.created ?? now, modified: now,
                level: .memoryOnly, version: (before?.version ?? 0) + 1))
        replyCreated(.item(collection: collection, id: id), message)
    }

    private func save(_ new: NewItem, _ lookup: LookupFields, in collection: String, _ message: BusMessage) {
        let target = name(for: new, in: collection)
        let secret = new.secret.secret
        let label = new.label
        run(
            on: target.id, for: message.sender,
            { [writer] in
                Provider.save(target, secret, label, lookup, collection, writer)
            }
        ) { [self] result in
            creating[Provider.creationKey(new.attributes, collection)] = nil
            switch result {
            case .success(let details):
                wrote(details.name, details)
                replyCreated(index.item(named: details.name)?.path ?? .collection(collection), message)
            case .failure(let error):
                if error.status != .locked { report(error, message) }
                bus.fail(message, Refusal(error))
            }
        }
    }

    private typealias Target = (id: String, name: Result<ItemName, TokenKeepError>)

    /// The record for a new item: the record of an item with equal attributes, a shared record, or a new one.
    private func name(for new: NewItem, in collection: String) -> Target {
        if new.replaces, let before = index.item(withExactly: new.attributes, in: collection), let name = before.name {
            return (before.id, .success(name))
        }
        if collection == IndexedCollection.login, let name = ItemMapping.sharedName(of: new.attributes) {
            // The key is the identifier derived from the record's name, so calls that make the record for the same
            // service and account run one after another.
            return (index.item(named: name)?.id ?? ItemMapping.id(of: name), .success(name))
        }
        let key = Provider.creationKey(new.attributes, collection)
        let id = new.replaces ? creating[key] ?? Provider.newID() : Provider.newID()
        creating[key] = id
        return (id, Provider.reservedName(collection, id))
    }

    static func newID() -> String { Hexadecimal.text(randomBytes(16)) }

    private static func creationKey(_ attributes: [String: String], _ collection: String) -> String {
        var key = LengthPrefixedBytes()
        key.append(collection.utf8)
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            key.append(name.utf8)
            key.append(value.utf8)
        }
        return Hexadecimal.text(key.bytes.withUnsafeBytes { KeyedHash.digest(of: $0, count: 32) })
    }

    static func reservedName(_ collection: String, _ id: String) -> Result<ItemName, TokenKeepError> {
        do throws(TokenKeepError) {
            return .success(try ItemName(namespace: ReservedNamespace.name, service: collection, account: id))
        } catch {
            return .failure(error)
        }
    }

    private static func save(
        _ target: Target, _ secret: SecretBytes, _ label: String, _ lookup: LookupFields, _ collection: String,
        _ writer: VaultWriter
    ) -> Result<ItemDetails, TokenKeepError> {
        do throws(TokenKeepError) {
            let name = try target.name.get()
            do throws(TokenKeepError) {
                let label = label.isEmpty && name.namespace.isEmpty ? name.defaultLabel : label
                let newID = name.namespace.isEmpty ? newID() : nil
                return .success(try writer.save(name, secret, label: label, lookup: lookup, newID: newID))
            } catch {
                // Clients cannot use an item that needs the password at each use, so the new item gets a record of its
                // own.
                guard error.status == .policy, name.namespace.isEmpty else { throw error }
                let own = try reservedName(collection, newID()).get()
                return .success(try writer.save(own, secret, label: label, lookup: lookup))
            }
        } catch {
            return .failure(error)
        }
    }
}
