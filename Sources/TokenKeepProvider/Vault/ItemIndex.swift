import TokenKeepCore

/// The items and collections of the service in memory, for searches by attributes.
///
/// Used by the bus thread alone.
struct ItemIndex {
    /// An attribute, compared by bytes: two Unicode spellings of the same text are different attributes.
    private struct Pair: Hashable {
        let name: String
        let value: String

        static func == (left: Pair, right: Pair) -> Bool {
            left.name.hasBytes(of: right.name) && left.value.hasBytes(of: right.value)
        }

        func hash(into hasher: inout Hasher) {
            for var part in [name, value] {
                hasher.combine(part.utf8.count)
                part.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            }
        }
    }

    private struct Entry {
        let item: IndexedItem
        /// A counter that grows with each change and orders items that were modified in the same second.
        let order: UInt64
    }

    private(set) var collections: [String: IndexedCollection] = [:]
    private var entries: [String: Entry] = [:]
    private var byAttribute: [Pair: Set<String>] = [:]
    private var byCollection: [String: Set<String>] = [:]
    private var byName: [ItemName: String] = [:]
    private var changes: UInt64 = 0

    init() { for collection in IndexedCollection.fixed { collections[collection.id] = collection } }

    private static func key(_ collection: String, _ id: String) -> String { "\(collection)/\(id)" }

    subscript(collection: String, id: String) -> IndexedItem? { entries[ItemIndex.key(collection, id)]?.item }

    /// The item with this record name; nil if there is none.
    func item(named name: ItemName) -> IndexedItem? { byName[name].flatMap { entries[$0]?.item } }

    var items: [IndexedItem] { entries.values.map(\.item) }

    /// The items of a collection, the oldest first.
    func items(of collection: String) -> [IndexedItem] {
        (byCollection[collection] ?? []).compactMap { entries[$0] }.sorted { $0.order < $1.order }.map(\.item)
    }

    func count(of collection: String) -> Int { byCollection[collection]?.count ?? 0 }

    /// Puts an item into the index, and replaces the item with the same identifier.
    mutating func put(_ item: IndexedItem) {
        let key = ItemIndex.key(item.collection, item.id)
        if let before = entries[key]?.item { unlink(before, key) }
        changes += 1
        if let name = item.name { byName[name] = key }
        entries[key] = Entry(item: item, order: changes)
        byCollection[item.collection, default: []].insert(key)
        for (name, value) in item.attributes { byAttribute[Pair(name: name, value: value), default: []].insert(key) }
    }

    mutating func remove(_ item: IndexedItem) {
        let key = ItemIndex.key(item.collection, item.id)
        guard let before = entries.removeValue(forKey: key)?.item else { return }
        unlink(before, key)
    }

    private mutating func unlink(_ item: IndexedItem, _ key: String) {
        byCollection[item.collection]?.remove(key)
        if let name = item.name, byName[name] == key { byName[name] = nil }
        for (name, value) in item.attributes {
            let pair = Pair(name: name, value: value)
            byAttribute[pair]?.remove(key)
            if byAttribute[pair]?.isEmpty == true { byAttribute[pair] = nil }
        }
    }

    mutating func put(_ collection: IndexedCollection) { collections[collection.id] = collection }

    /// Removes a collection. `login` and `session` stay, with their default labels.
    mutating func remove(collection id: String) {
        collections[id] = IndexedCollection.fixed.first { $0.id == id }
    }

    /// The items that have all these attributes, the newest first.
    ///
    /// - Parameter collection: the only collection to search; nil to search all.
    func search(_ attributes: [String: String], in collection: String? = nil) -> [IndexedItem] {
        var sets: [Set<String>] = []
        if let collection { sets.append(byCollection[collection] ?? []) }
        for (name, value) in attributes {
            guard let found = byAttribute[Pair(name: name, value: value)] else { return [] }
            sets.append(found)
        }
        sets.sort { $0.count < $1.count }
        guard let smallest = sets.first else { return newestFirst(Array(entries.values)) }
        let others = sets.dropFirst()
        return newestFirst(
            smallest.filter { key in others.allSatisfy { $0.contains(key) } }.compactMap { entries[$0] })
    }

    private func newestFirst(_ entries: [Entry]) -> [IndexedItem] {
        entries.sorted { ($0.item.modified, $0.order) > ($1.item.modified, $1.order) }.map(\.item)
    }

    /// The newest item of a collection that has exactly these attributes.
    func item(withExactly attributes: [String: String], in collection: String) -> IndexedItem? {
        search(attributes, in: collection).first { $0.attributes.count == attributes.count }
    }
}
