import TokenKeepCore

/// Changes the index, and sends the D-Bus signals of each change. Sends no signals while the index is filled for the
/// first time.
extension Provider {
    func put(_ item: IndexedItem) {
        let before = index[item.collection, item.id]
        guard before != item else { return }
        if index.collections[item.collection] == nil {
            put(IndexedCollection(id: item.collection, label: item.collection))
        }
        index.put(item)
        guard freshness.isIndexed || item.name == nil else { return }
        signalItem(before == nil ? "ItemCreated" : "ItemChanged", item)
        guard let before else { return signalItems(of: item.collection) }
        signalProperties(item.path, Interfaces.item, changed(before, item).map { ($0, item) })
    }

    private func changed(_ before: IndexedItem, _ item: IndexedItem) -> [ItemProperty] {
        var changed: [ItemProperty] = []
        if !before.label.hasBytes(of: item.label) { changed.append(.label) }
        if !before.hasAttributes(of: item) { changed.append(.attributes) }
        if !ItemProperty.type(of: before).hasBytes(of: ItemProperty.type(of: item)) { changed.append(.type) }
        if before.modified != item.modified { changed.append(.modified) }
        if isLocked(before) != isLocked(item) { changed.append(.locked) }
        return changed
    }

    func drop(_ item: IndexedItem) {
        index.remove(item)
        memory[item.id] = nil
        signalItem("ItemDeleted", item)
        signalItems(of: item.collection)
    }

    func put(_ collection: IndexedCollection) {
        let before = index.collections[collection.id]
        guard before != collection else { return }
        index.put(collection)
        guard freshness.isIndexed else { return }
        signalCollection(before == nil ? "CollectionCreated" : "CollectionChanged", collection.id)
        guard let before else { return signalCollections() }
        signalProperties(changed(before, collection), of: collection)
    }

    private func changed(_ before: IndexedCollection, _ collection: IndexedCollection) -> [CollectionProperty] {
        var changed: [CollectionProperty] = []
        if !before.label.hasBytes(of: collection.label) { changed.append(.label) }
        if before.created != collection.created { changed.append(.created) }
        if before.modified != collection.modified { changed.append(.modified) }
        return changed
    }

    func drop(_ collection: IndexedCollection) {
        let isFixed = IndexedCollection.fixed.contains { $0.id == collection.id }
        guard !isFixed || !IndexedCollection.fixed.contains(collection) else { return }
        index.remove(collection: collection.id)
        signalCollection(isFixed ? "CollectionChanged" : "CollectionDeleted", collection.id)
        guard let now = index.collections[collection.id] else { return signalCollections() }
        signalProperties(changed(collection, now), of: now)
    }

    /// Stores the locks of a vault that was read for the first time, and signals its collections and items.
    func signalRead(_ state: VaultState) {
        let new = index.collections.keys.sorted().filter { id in !IndexedCollection.fixed.contains { $0.id == id } }
        for id in new { signalCollection("CollectionCreated", id) }
        if !new.isEmpty { signalCollections() }
        become(state)
        for id in [IndexedCollection.login] + new where index.count(of: id) > 0 { signalItems(of: id) }
    }

    private func signalItem(_ member: String, _ item: IndexedItem) {
        for path in ObjectPath.collection(item.collection).everyText {
            bus.signal(path, Interfaces.collection, member) { $0.path(item.path.text) }
        }
    }

    private func signalCollection(_ member: String, _ id: String) {
        bus.signal(ObjectPath.root, Interfaces.service, member) { $0.path(ObjectPath.collection(id).text) }
    }

    private func signalCollections() {
        signal(changed: Interfaces.service, at: ObjectPath.root) { message in
            message.container("e", "sv") {
                message.string("Collections")
                message.variant("ao") { message.paths(self.collectionPaths) }
            }
        }
    }

    /// The maximum number of paths in a signal. If a list is longer, the signal contains only the property's name, and
    /// clients read the value.
    private static let sentItems = 200

    private func signalItems(of collection: String) {
        let isShort = index.count(of: collection) <= Provider.sentItems
        let paths = isShort ? index.items(of: collection).map(\.path.text) : []
        for path in ObjectPath.collection(collection).everyText {
            signal(changed: Interfaces.collection, at: path, invalidated: isShort ? [] : ["Items"]) { message in
                guard isShort else { return }
                message.entry("Items", "ao") { message.paths(paths) }
            }
        }
    }

    private func signalProperties(_ changes: [CollectionProperty], of collection: IndexedCollection) {
        guard !changes.isEmpty else { return }
        for text in ObjectPath.collection(collection.id).everyText {
            signal(changed: Interfaces.collection, at: text) { message in
                for property in changes {
                    message.entry(property.rawValue, property.signature) {
                        self.write(property, of: collection, to: message)
                    }
                }
            }
        }
    }

    private func signalProperties(_ path: ObjectPath, _ interface: String, _ changes: [(ItemProperty, IndexedItem)]) {
        guard !changes.isEmpty else { return }
        for text in path.everyText {
            signal(changed: interface, at: text) { message in
                for (property, item) in changes {
                    message.entry(property.rawValue, property.signature) { self.write(property, of: item, to: message) }
                }
            }
        }
    }

    /// Signals that `Locked` changed for the given items and, if `collections`, for all collections but `session`.
    func signalLocks(collections: Bool, items: [IndexedItem]) {
        if collections {
            for id in index.collections.keys.sorted() where id != IndexedCollection.session {
                signalCollection("CollectionChanged", id)
                for path in ObjectPath.collection(id).everyText {
                    signalLock(Interfaces.collection, path, isLocked)
                }
            }
        }
        for item in items {
            for path in item.path.everyText { signalLock(Interfaces.item, path, isLocked(item)) }
            for path in ObjectPath.collection(item.collection).everyText {
                bus.signal(path, Interfaces.collection, "ItemChanged") { $0.path(item.path.text) }
            }
        }
    }

    private func signalLock(_ interface: String, _ path: String, _ isLocked: Bool) {
        signal(changed: interface, at: path) { message in message.entry("Locked", "b") { message.bool(isLocked) } }
    }

    private func signal(
        changed interface: String, at path: String, invalidated: [String] = [], _ body: (OutgoingMessage) -> Void
    ) {
        bus.signal(path, Interfaces.properties, "PropertiesChanged") { message in
            message.string(interface)
            message.array("{sv}") { body(message) }
            message.array("s") { for name in invalidated { message.string(name) } }
        }
    }

    var collectionPaths: [String] { index.collections.keys.sorted().map { ObjectPath.collection($0).text } }
}
