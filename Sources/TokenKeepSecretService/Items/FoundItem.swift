public import TokenKeepCore

/// An item of any program as the Secret Service describes it, without its secret. Other programs wrote the texts.
public struct FoundItem: Sendable {
    /// The label that is shown to users.
    public let label: String
    /// All attributes.
    public let attributes: [String: String]
    /// The label of the item's collection (keyring); if there is no label, the last component of the collection's path.
    public let collection: String
    /// The time of the first save; nil if unknown.
    public let createdAt: UnixTime?
    /// The time of the last save; nil if unknown.
    public let modifiedAt: UnixTime?
    /// Whether the item's secret is locked.
    public let isLocked: Bool
    /// The item's object on the bus.
    let path: ObjectPath

    init(_ item: StoredItem, in collection: String) {
        label = item.label
        attributes = item.attributes
        self.collection = collection
        createdAt = Int64(exactly: item.created).flatMap { $0 == 0 ? nil : UnixTime($0) }
        modifiedAt = Int64(exactly: item.modified).flatMap { $0 == 0 ? nil : UnixTime($0) }
        isLocked = item.isLocked
        path = item.path
    }
}

/// The result of a search among the items of all programs.
public struct FoundItems: Sendable {
    /// The items, the most recently saved first.
    public internal(set) var items: [FoundItem] = []
    /// The labels of the locked collections, which may have more items.
    public internal(set) var lockedCollections: [String] = []
    /// The number of items that could not be read.
    public internal(set) var unreadable = 0

    /// Removes the items for which `isWanted` returns false.
    public mutating func keep(_ isWanted: (FoundItem) -> Bool) { items = items.filter(isWanted) }
}

extension SecretServiceModule {
    /// Makes a module that searches the items of every program, and saves nothing.
    public convenience init(searchingFor milliseconds: UInt32) {
        self.init(timeoutMilliseconds: milliseconds) { () throws(TokenKeepError) in
            throw TokenKeepError(.internal, "a search needs no version")
        }
    }

    /// Searches the items of every program, in all collections. Unlocks nothing and reads no secret.
    ///
    /// - Parameter searches: sets of attributes. An item is found if it has all attributes of at least one set.
    public func search(
        anyOf searches: [[String: String]], until deadline: Deadline
    ) throws(TokenKeepError) -> FoundItems {
        try withServiceCall(CallContext(deadline: deadline, promptsAllowed: false)) { call throws(TokenKeepError) in
            try ItemLists(whole: call).found(anyOf: searches)
        }
    }

    /// Reads the secret of an item.
    ///
    /// - Throws: ``Status/locked`` if the item is locked; ``Status/notFound`` if the item no longer exists;
    ///   ``Status/unsupported`` if the vault sealed the item.
    public func secret(of item: FoundItem, until deadline: Deadline) throws(TokenKeepError) -> SecretBytes {
        try withServiceCall(CallContext(deadline: deadline, promptsAllowed: false)) { call throws(TokenKeepError) in
            try ItemLists(whole: call).secret(of: item)
        }
    }
}

extension ItemLists {
    private static let subject = "the items"

    func found(anyOf searches: [[String: String]]) throws(TokenKeepError) -> FoundItems {
        let collections = try collections()
        var found = FoundItems()
        found.lockedCollections = collections.values.filter(\.isLocked).map(\.label).sorted()
        let (unlocked, locked) = try search.matches(anyOf: searches, for: ItemLists.subject)
        let paths = unlocked + locked
        for start in stride(from: 0, to: paths.count, by: ItemLists.batch) {
            let batch = paths[start..<min(start + ItemLists.batch, paths.count)]
            for (path, reply) in zip(batch, try exchange(batch.map(getAll))) {
                guard case .answer(let body) = reply, let item = StoredItem(path: path, properties: body) else {
                    found.unreadable += reply.isMissingObject ? 0 : 1
                    continue
                }
                // Some services return more items than the search matches.
                guard searches.contains(where: { item.has($0) }) else { continue }
                let place = path.parent
                found.items.append(FoundItem(item, in: collections[place]?.label ?? place.lastPart))
            }
        }
        found.items.sort {
            ($0.modifiedAt?.rawValue ?? 0, $0.path.text) > ($1.modifiedAt?.rawValue ?? 0, $1.path.text)
        }
        return found
    }

    func secret(of item: FoundItem) throws(TokenKeepError) -> SecretBytes {
        guard item.attributes[AttributeNames.sealed] == nil else {
            throw TokenKeepError(
                .unsupported, "the vault sealed the secret of this item",
                hint: "load it by its name: tokenkeep load SERVICE ACCOUNT")
        }
        let reply = try exchange(getSecret(item.path))
        guard !reply.isLocked else {
            throw TokenKeepError(
                .locked, "the item is locked", hint: "unlock its collection (gnome-keyring: tokenkeep unlock --keyring)"
            )
        }
        if try search.isGone(reply, item.path, of: [item.attributes], subject: "the item") {
            throw TokenKeepError(.notFound, "the item is gone")
        }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "load", "the item") }
        let stored = try decode(body[0])
        guard item.attributes[AttributeNames.encoding] == StoredValue.base64, StoredValue.isEncoded(stored) else {
            return stored
        }
        return try StoredValue.decode(stored)
    }

    /// The label and the lock state of each collection, by its path. Empty if the service does not list its
    /// collections.
    private func collections() throws(TokenKeepError) -> [Substring: (label: String, isLocked: Bool)] {
        let answer = try exchange(
            properties(
                .service, "Get", [.string("org.freedesktop.Secret.Service"), .string("Collections")],
                answerType: "(v)"))
        guard case .answer(let body) = answer, let paths = body[0].content, paths.isOf(type: "ao") else { return [:] }
        let known = paths.children.compactMap { $0.text.flatMap(ObjectPath.init) }
        let replies = try exchange(
            known.map { properties($0, "GetAll", [.string(ServiceCall.collectionInterface)], answerType: "(a{sv})") })
        var collections: [Substring: (label: String, isLocked: Bool)] = [:]
        for (path, reply) in zip(known, replies) {
            guard case .answer(let body) = reply else { continue }
            var values: [String: Variant] = [:]
            for entry in body[0].children { if let name = entry[0].text { values[name] = entry[1].content } }
            let label = values["Label"]?.text ?? ""
            collections[path.text[...]] = (
                label.isEmpty ? path.text[...].lastPart : label, values["Locked"]?.boolean ?? false
            )
        }
        return collections
    }
}

extension ObjectPath {
    /// The path of the item's collection.
    fileprivate var parent: Substring { text.lastIndex(of: "/").map { text[..<$0] } ?? text[...] }
}

extension Substring {
    /// The part after the last slash.
    fileprivate var lastPart: String { String(lastIndex(of: "/").map { self[index(after: $0)...] } ?? self) }
}

extension StoredItem {
    /// Whether the item has all these attributes.
    fileprivate func has(_ wanted: [String: String]) -> Bool { wanted.allSatisfy { attributes[$0.key] == $0.value } }
}
