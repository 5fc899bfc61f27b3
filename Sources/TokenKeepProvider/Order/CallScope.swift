/// An object for which the order of a client's calls is kept.
enum OrderedObject: Hashable {
    /// The whole service.
    case service
    /// The list of collections.
    case collections
    case collection(String)
    case item(collection: String, id: String)
    /// An item that `CreateItem` makes, by the digest of the item's attributes.
    case newItem(String)
}

/// How a call uses an object. Two calls of one client on one object keep their order if their uses conflict.
enum ObjectUse: Int, CaseIterable {
    /// Reads one element of the object.
    case look
    /// Changes or removes one element.
    case change
    /// Adds an element, or replaces the element with equal attributes.
    case create
    /// Changes an element's attributes, by which `create` finds elements to replace.
    case move
    /// Reads all elements together, as for a list or a search.
    case search
    /// Changes the object itself.
    case whole

    /// The uses that conflict with this use.
    var conflicts: [ObjectUse] {
        switch self {
        case .look: [.whole]
        case .change: [.search, .whole]
        case .create: [.move, .search, .whole]
        case .move: [.create, .search, .whole]
        case .search: [.change, .create, .move, .whole]
        case .whole: ObjectUse.allCases
        }
    }
}

/// The objects that a call uses, and how. Of several uses of one object, the use with the highest raw value is kept.
struct CallScope {
    private(set) var uses: [OrderedObject: ObjectUse] = [:]

    private mutating func add(_ object: OrderedObject, _ use: ObjectUse) {
        if let present = uses[object], present.rawValue >= use.rawValue { return }
        uses[object] = use
    }

    /// The scope of a call that reads one property of an object.
    static func reading(_ path: ObjectPath) -> CallScope { path == .service ? listing : reading([path]) }

    /// The scope of a call that reads all properties of an object.
    static func describing(_ path: ObjectPath) -> CallScope {
        switch path {
        case .service, .folder: listing
        case .collection(let id): searching(id)
        default: reading([path])
        }
    }

    /// The scope of a call that reads items, or properties of collections.
    static func reading(_ paths: [ObjectPath]) -> CallScope {
        var scope = CallScope()
        scope.add(.service, .look)
        for path in paths { scope.read(path) }
        return scope
    }

    private mutating func read(_ path: ObjectPath) {
        switch path {
        case .collection(let id): add(.collection(id), .look)
        case .item(let collection, let id):
            add(.collection(collection), .look)
            add(.item(collection: collection, id: id), .search)
        default: break
        }
    }

    /// The scope of a call that reads the items of a collection, or of all collections if `collection` is nil.
    static func searching(_ collection: String?) -> CallScope {
        guard let collection else { return CallScope(uses: [.service: .search]) }
        return CallScope(uses: [.service: .look, .collection(collection): .search])
    }

    /// The scope of a call that reads the list of collections.
    private static let listing = CallScope(uses: [.service: .look, .collections: .search])

    /// The scope of a call that changes an item, or a collection's own properties.
    static func changing(_ path: ObjectPath) -> CallScope {
        switch path {
        case .item(let collection, let id):
            CallScope(uses: [
                .service: .change, .collection(collection): .change, .item(collection: collection, id: id): .whole,
            ])
        case .collection(let id): CallScope(uses: [.service: .change, .collection(id): .whole])
        default: reading([path])
        }
    }

    /// The scope of a call that changes an item's attributes, and may thereby replace the item `other`.
    static func moving(_ path: ObjectPath, to other: String?) -> CallScope {
        var scope = changing(path)
        guard case .item(let collection, _) = path else { return scope }
        scope.add(.collection(collection), .move)
        // Two moves to the same name run one after the other.
        if let other { scope.add(.item(collection: collection, id: other), .whole) }
        return scope
    }

    /// The scope of a call that makes an item.
    ///
    /// - Parameters:
    ///   - key: the digest of the item's attributes.
    ///   - ids: the identifiers of the items that the call may replace, and of the new item if it is known.
    static func creating(in collection: String, _ key: String, _ ids: [String]) -> CallScope {
        var scope = CallScope(uses: [
            .service: .change, .collection(collection): .create, .newItem(key): .whole,
        ])
        for id in ids { scope.add(.item(collection: collection, id: id), .whole) }
        return scope
    }

    /// The scope of a call that makes or deletes a collection.
    static func changing(collection: String) -> CallScope {
        CallScope(uses: [.service: .change, .collections: .change, .collection(collection): .whole])
    }

    /// The scope of a call that locks or unlocks the whole vault.
    static let everything = CallScope(uses: [.service: .whole])
}
