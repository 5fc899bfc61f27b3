/// The properties of an item.
enum ItemProperty: String, CaseIterable {
    case locked = "Locked"
    case attributes = "Attributes"
    case label = "Label"
    case type = "Type"
    case created = "Created"
    case modified = "Modified"

    var signature: String {
        switch self {
        case .locked: "b"
        case .attributes: "a{ss}"
        case .label, .type: "s"
        case .created, .modified: "t"
        }
    }

    /// The name of an item's schema.
    static func type(of item: IndexedItem) -> String { item.attributes["xdg:schema"] ?? "" }
}

/// The properties of a collection.
enum CollectionProperty: String, CaseIterable {
    case items = "Items"
    case label = "Label"
    case locked = "Locked"
    case created = "Created"
    case modified = "Modified"

    var signature: String {
        switch self {
        case .items: "ao"
        case .label: "s"
        case .locked: "b"
        case .created, .modified: "t"
        }
    }
}

/// The interface `org.freedesktop.DBus.Properties` of all objects.
extension Provider {
    func callProperties(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        switch message.member {
        case "Get":
            try message.expect("ss")
            let (interface, property) = (try message.string(), try message.string())
            whenFresh(message, property == "Items" ? .describing(path) : .reading(path)) { [self] () throws(Refusal) in
                try get(interface, property, of: path, message)
            }
        case "GetAll":
            try message.expect("s")
            let interface = try message.string()
            whenFresh(message, .describing(path)) { [self] () throws(Refusal) in
                try getAll(interface, of: path, message)
            }
        case "Set":
            try message.expect("ssv")
            try set(path, message)
        default: throw .unknownMethod("the interface has no method \(message.member)")
        }
    }

    private func unknown(_ interface: String) -> Refusal {
        .unknownInterface("there is no interface \(interface) here")
    }
    private func unknown(property: String) -> Refusal { .unknownProperty("there is no property \(property)") }

    private func get(_ interface: String, _ property: String, of path: ObjectPath, _ message: BusMessage)
        throws(Refusal)
    {
        let write: (OutgoingMessage) -> Void
        let signature: String
        switch path {
        case .service where [Interfaces.service, ""].contains(interface):
            guard property == "Collections" else { throw unknown(property: property) }
            signature = "ao"
            write = { [self] in $0.paths(collectionPaths) }
        case .collection where [Interfaces.collection, ""].contains(interface) && isUnreadLock(property, of: path),
            .item where [Interfaces.item, ""].contains(interface) && isUnreadLock(property, of: path):
            signature = "b"
            write = { $0.bool(true) }
        case .collection(let id) where [Interfaces.collection, ""].contains(interface):
            let collection = try collection(id)
            guard let known = CollectionProperty(rawValue: property) else { throw unknown(property: property) }
            signature = known.signature
            write = { [self] in self.write(known, of: collection, to: $0) }
        case .item where [Interfaces.item, ""].contains(interface):
            let item = try item(at: path)
            guard let known = ItemProperty(rawValue: property) else { throw unknown(property: property) }
            signature = known.signature
            write = { [self] in self.write(known, of: item, to: $0) }
        default:
            try expectWithoutProperties(path, interface)
            throw unknown(property: property)
        }
        bus.reply(to: message) { reply in reply.variant(signature) { write(reply) } }
    }

    /// Whether a client reads the property `Locked` of an object that may exist but has not been read yet. If it
    /// exists, it is locked.
    private func isUnreadLock(_ property: String, of path: ObjectPath) -> Bool {
        property == CollectionProperty.locked.rawValue && isUnread && mayBeUnread(path) && isLocked(path) == nil
    }

    /// Checks a query for the properties of a session or prompt. These objects have no properties, but libraries query
    /// them nevertheless.
    ///
    /// - Throws: the error for an object that no longer exists, or that does not have this interface.
    private func expectWithoutProperties(_ path: ObjectPath, _ interface: String) throws(Refusal) {
        switch path {
        case .session where [Interfaces.session, ""].contains(interface):
            guard clients.session(path.text) != nil else { throw .noSession }
        case .prompt where [Interfaces.prompt, ""].contains(interface):
            guard prompts[path.text] != nil else { throw .unknownObject("there is no prompt \(path.text)") }
        default: throw unknown(interface)
        }
    }

    private func getAll(_ interface: String, of path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        var entries: [(name: String, signature: String, write: (OutgoingMessage) -> Void)] = []
        switch path {
        case .service where [Interfaces.service, ""].contains(interface):
            entries = [("Collections", "ao", { [self] in $0.paths(collectionPaths) })]
        case .collection(let id) where [Interfaces.collection, ""].contains(interface):
            let collection = try collection(id)
            entries = CollectionProperty.allCases.map { property in
                (property.rawValue, property.signature, { [self] in write(property, of: collection, to: $0) })
            }
        case .item where [Interfaces.item, ""].contains(interface):
            let item = try item(at: path)
            entries = ItemProperty.allCases.map { property in
                (property.rawValue, property.signature, { [self] in write(property, of: item, to: $0) })
            }
        default: try expectWithoutProperties(path, interface)
        }
        bus.reply(to: message) { reply in
            reply.array("{sv}") {
                for entry in entries { reply.entry(entry.name, entry.signature) { entry.write(reply) } }
            }
        }
    }

    func write(_ property: ItemProperty, of item: IndexedItem, to message: OutgoingMessage) {
        switch property {
        case .locked: message.bool(isLocked(item))
        case .attributes: message.strings(item.attributes)
        case .label: message.string(item.label)
        case .type: message.string(ItemProperty.type(of: item))
        case .created: message.number(item.created)
        case .modified: message.number(item.modified)
        }
    }

    func write(_ property: CollectionProperty, of collection: IndexedCollection, to message: OutgoingMessage) {
        switch property {
        case .items: message.paths(index.items(of: collection.id).map(\.path.text))
        case .label: message.string(collection.label)
        case .locked: message.bool(isLocked(collection: collection.id))
        case .created: message.number(collection.created)
        case .modified: message.number(collection.modified)
        }
    }

    private func set(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        let interface = try message.string()
        let property = try message.string()
        var label: String?
        var attributes: [String: String]?
        try message.variant { (signature) throws(Refusal) in
            switch (property, signature) {
            case ("Label", "s"): label = try message.string()
            case ("Attributes", "a{ss}"): attributes = try message.strings()
            case ("Label", _), ("Attributes", _):
                throw .invalid("the property \(property) is not of the type \(signature)")
            default: try message.skip(signature)
            }
        }
        let other = attributes.flatMap(ItemMapping.sharedName).map {
            index.item(named: $0)?.id ?? ItemMapping.id(of: $0)
        }
        whenFresh(message, attributes == nil ? .changing(path) : .moving(path, to: other)) {
            [self] () throws(Refusal) in
            switch path {
            case .item where [Interfaces.item, ""].contains(interface):
                if let label { return try setLabel(label, of: path, message) }
                if let attributes { return try setAttributes(attributes, of: path, message) }
                guard ItemProperty(rawValue: property) == nil else { throw .readOnly("\(property) cannot be set") }
            case .collection(let id) where [Interfaces.collection, ""].contains(interface):
                if let label { return try setLabel(label, ofCollection: id, message) }
                guard CollectionProperty(rawValue: property) == nil else {
                    throw .readOnly("\(property) cannot be set")
                }
            case .service where [Interfaces.service, ""].contains(interface):
                guard property != "Collections" else { throw .readOnly("\(property) cannot be set") }
            default: throw unknown(interface)
            }
            throw unknown(property: property)
        }
    }

    private func setLabel(_ label: String, ofCollection id: String, _ message: BusMessage) throws(Refusal) {
        let collection = try collection(id)
        let name = try recordName(of: collection)
        try Provider.checkLength(ofLabel: label)
        guard id != IndexedCollection.session else {
            put(IndexedCollection(id: id, label: label, created: collection.created, modified: collection.modified))
            return bus.reply(to: message)
        }
        guard !isLocked else { throw .isLocked }
        saveCollection(name, label, message) { [self] isSaved in if isSaved { bus.reply(to: message) } }
    }
}
