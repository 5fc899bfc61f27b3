import TokenKeepCore
import TokenKeepKeys

/// The namespace of items that are visible only to clients of the Secret Service.
///
/// The service is the collection's identifier, and the account is the item's. An empty account is the collection's own
/// record.
enum ReservedNamespace {
    static let name = "org.freedesktop.secrets"
    /// The service of the portal's secrets, whose accounts are application ids. No collection can have this identifier.
    static let portal = "portal:"
}

/// An item as clients of the bus see it, without its secret.
struct IndexedItem: Sendable, Equatable {
    let collection: String
    /// The item's identifier: 32 hexadecimal digits.
    let id: String
    /// The name of the vault's record; nil for an item in memory.
    let name: ItemName?
    let label: String
    let attributes: [String: String]
    let contentType: String
    let created: UInt64
    let modified: UInt64
    let level: AccessLevel
    /// A number that changes whenever the secret changes.
    let version: UInt64

    var path: ObjectPath { .item(collection: collection, id: id) }

    /// Compares texts byte by byte, so that a different Unicode spelling counts as a change.
    static func == (left: IndexedItem, right: IndexedItem) -> Bool {
        left.collection == right.collection && left.id == right.id && left.name == right.name
            && left.label.hasBytes(of: right.label) && left.hasAttributes(of: right)
            && left.contentType.hasBytes(of: right.contentType) && left.created == right.created
            && left.modified == right.modified && left.level == right.level && left.version == right.version
    }

    /// Whether the items have the same attributes, byte by byte.
    func hasAttributes(of other: IndexedItem) -> Bool {
        attributes.count == other.attributes.count
            && attributes.allSatisfy { name, value in
                guard let place = other.attributes.index(forKey: name) else { return false }
                return other.attributes[place].key.hasBytes(of: name)
                    && other.attributes[place].value.hasBytes(of: value)
            }
    }
}

extension IndexedItem {
    /// Whether the item's identifier is the one derived from its name.
    var isAtOwnPath: Bool { name.map { $0.namespace.isEmpty && id == ItemMapping.id(of: $0) } ?? false }

    /// A copy of the item with another identifier.
    func at(_ id: String) -> IndexedItem {
        IndexedItem(
            collection: collection, id: id, name: name, label: label, attributes: attributes, contentType: contentType,
            created: created, modified: modified, level: level, version: version)
    }
}

/// A collection as clients of the bus see it.
struct IndexedCollection: Sendable, Equatable {
    let id: String
    let label: String
    var created: UInt64 = 0
    var modified: UInt64 = 0

    static let login = "login"
    static let session = "session"
    static let fixed = [
        IndexedCollection(id: login, label: "Login"), IndexedCollection(id: session, label: "Session"),
    ]
}

/// The object of the bus that a record of the vault represents.
enum StoredObject: Sendable {
    case item(IndexedItem)
    case collection(IndexedCollection)
}

/// Maps records to objects of the bus, and attributes to names of records.
enum ItemMapping {
    private static let genericSchema = "org.freedesktop.Secret.Generic"
    private static let schema = "xdg:schema"
    /// The content type of an item that was not stored by a client of the bus.
    static let usualContentType = "text/plain"

    /// The bus object of a record; nil if the record is hidden from clients of the bus.
    static func object(of details: ItemDetails) -> StoredObject? {
        guard !details.flags.contains(.userPresence), details.accessLevel != .memoryOnly else { return nil }
        let name = details.name
        if name.namespace.isEmpty {
            return .item(item(details, collection: IndexedCollection.login, id: details.lookup?.itemID ?? id(of: name)))
        }
        guard name.namespace == ReservedNamespace.name, isObjectName(name.service) else { return nil }
        if name.account.isEmpty {
            return .collection(
                IndexedCollection(
                    id: name.service, label: details.lookup?.label ?? details.label,
                    created: seconds(details.createdAt),
                    modified: seconds(details.modifiedAt)))
        }
        guard Hexadecimal.bytes(name.account, count: 16) != nil, details.lookup != nil else { return nil }
        return .item(item(details, collection: name.service, id: name.account))
    }

    private static func item(_ details: ItemDetails, collection: String, id: String) -> IndexedItem {
        let given = details.lookup?.attributes ?? [:]
        // An item saved by `tokenkeep` or the library may have a client's label or content type, but has no lookup
        // attributes.
        let isOwn = details.name.namespace.isEmpty && given.isEmpty
        return IndexedItem(
            collection: collection, id: id, name: details.name, label: details.lookup?.label ?? details.label,
            attributes: isOwn ? ownAttributes(of: details) : given,
            contentType: details.lookup?.contentType ?? usualContentType, created: seconds(details.createdAt),
            modified: seconds(details.modifiedAt), level: details.accessLevel, version: details.version)
    }

    /// The attributes of an item saved by `tokenkeep` or the library: those that the module `secret-service` would
    /// store.
    private static func ownAttributes(of details: ItemDetails) -> [String: String] {
        var attributes = [
            schema: "org.tokenkeep.Item", "service": details.name.service, "username": details.name.account,
            "tokenkeep:namespace": "", "tokenkeep:access": details.accessLevel.word,
        ]
        if let expires = details.expiresAt { attributes["tokenkeep:expires"] = String(expires.rawValue) }
        if !details.flags.isEmpty { attributes["tokenkeep:flags"] = String(details.flags.rawValue) }
        for pair in details.attributes.pairs { attributes["tokenkeep:a:" + pair.name] = pair.value }
        return attributes
    }

    /// The name of an item that the module `secret-service` stored without a namespace; nil for any other attributes.
    static func ownName(of attributes: [String: String]) -> ItemName? {
        guard attributes[schema] == "org.tokenkeep.Item", attributes["tokenkeep:namespace"] ?? "" == "",
            let service = attributes["service"], let account = attributes["username"]
        else { return nil }
        return try? ItemName(service: service, account: account)
    }

    /// The name of the item that `tokenkeep` and the library find by these attributes; nil if there is none.
    ///
    /// The attributes must be exactly service and username, and optionally application, target and the generic schema.
    static func sharedName(of attributes: [String: String]) -> ItemName? {
        guard let service = attributes["service"], let account = attributes["username"],
            attributes.keys.allSatisfy({ ["service", "username", "application", "target", schema].contains($0) }),
            (attributes[schema] ?? genericSchema) == genericSchema
        else { return nil }
        return try? ItemName(service: service, account: account)
    }

    /// The identifier of a shared item, derived from its name.
    ///
    /// - Parameter alternate: 0 for the usual identifier; 1 or more if other items have the lower alternates.
    static func id(of name: ItemName, alternate: Int = 0) -> String {
        var message = LengthPrefixedBytes()
        message.append(ReservedNamespace.name.utf8)
        if alternate > 0 { message.append(String(alternate).utf8) }
        message.append(name.service.utf8)
        message.append(name.account.utf8)
        return Hexadecimal.text(message.bytes.withUnsafeBytes { KeyedHash.digest(of: $0, count: 16) })
    }

    /// The maximum length of an element of an object path, in bytes.
    static let objectNameLength = 128

    /// Whether a text may be an element of an object path.
    static func isObjectName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= objectNameLength
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Converts a label to an element of an object path. Bytes other than letters and digits become `_` and two digits.
    static func objectName(of label: String) -> String {
        var name = ""
        for byte in label.utf8.prefix(40) {
            let letter = String(UnicodeScalar(byte))
            name += isObjectName(letter) && letter != "_" ? letter : "_" + Hexadecimal.text([byte])
        }
        return name.isEmpty ? "collection" : name
    }

    private static func seconds(_ time: UnixTime?) -> UInt64 { UInt64(clamping: time?.rawValue ?? 0) }
}
