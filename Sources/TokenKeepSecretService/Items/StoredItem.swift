import TokenKeepCore

/// An item as the service describes it, checked for type, not yet for sense.
struct StoredItem {
    let path: ObjectPath
    var attributes: [String: String]
    let label: String
    let created: UInt64
    var modified: UInt64
    let isLocked: Bool

    /// Reads the properties of an item, of type `(a{sv})`; nil where one that is needed is missing or of another type.
    init?(path: ObjectPath, properties: Variant) {
        guard properties.isOf(type: "(a{sv})") else { return nil }
        var values: [String: Variant] = [:]
        for entry in properties[0].children {
            guard let name = entry[0].text, let value = entry[1].content else { return nil }
            values[name] = value
        }
        guard let attributes = values["Attributes"].flatMap(StoredItem.strings), let label = values["Label"]?.text,
            let isLocked = values["Locked"]?.boolean
        else { return nil }
        self.path = path
        self.attributes = attributes
        self.label = label
        self.isLocked = isLocked
        created = values["Created"]?.number ?? 0
        modified = values["Modified"]?.number ?? 0
    }

    static func strings(_ value: Variant) -> [String: String]? {
        guard value.isOf(type: "a{ss}") else { return nil }
        var strings: [String: String] = [:]
        for entry in value.children {
            guard let name = entry[0].text, let text = entry[1].text else { return nil }
            strings[name] = text
        }
        return strings
    }

    /// The vault whose key seals its secret; nil where it is not sealed.
    var sealedBy: String? { attributes[AttributeNames.sealed] }

    /// Whether the item is one of ours with this name.
    func isOurs(_ name: ItemName) -> Bool { isOurs(namespace: name.namespace) && names(name) }

    /// Whether the item is one of ours in a namespace: by its namespace's attribute, which nobody else writes, whatever
    /// became of the schema. A program that replaces one of the common namespace by service and username takes away the
    /// attributes it does not know; where gnome-keyring keeps the schema, which is left to chance, it is ours all the same,
    /// else it counts as that program's.
    func isOurs(namespace: String) -> Bool {
        let schema = attributes[AttributeNames.schema] ?? AttributeNames.genericSchema
        guard attributes[AttributeNames.namespace] != nil else {
            return namespace.isEmpty && schema == AttributeNames.ourSchema
        }
        return same(AttributeNames.namespace, namespace)
            && (schema == AttributeNames.ourSchema || schema == AttributeNames.genericSchema)
    }

    /// Whether another program keeps what the name means in this item: named by service and username, with nothing else
    /// that could make it something else. Only the common namespace has such items.
    func isForeign(_ name: ItemName) -> Bool {
        name.namespace.isEmpty && names(name) && attributes[AttributeNames.namespace] == nil
            && (attributes[AttributeNames.schema] ?? AttributeNames.genericSchema) == AttributeNames.genericSchema
            && attributes.keys.allSatisfy {
                AttributeNames.ofOthers.contains($0) || AttributeNames.ofKeePassXC.contains($0)
                    || $0.hasPrefix(AttributeNames.prefix)
            }
    }

    /// Whether the item's attributes are these, byte by byte: Swift's `==` takes different spellings of a letter as one.
    func hasExactly(_ wanted: [String: String]) -> Bool {
        attributes.count == wanted.count
            && wanted.allSatisfy { name, value in attributes[name]?.utf8.elementsEqual(value.utf8) ?? false }
    }

    /// Whether it is an entry of KeePassXC's, which never removes an attribute and asks before it deletes an entry.
    var isKeePassXCs: Bool { attributes["Uuid"] != nil && attributes["Path"] != nil }

    /// The attributes that it should have to hold these details; nil where it can only be made anew.
    func attributes(for details: ItemDetails, as form: StoredForm, isOurs: Bool) -> [String: String]? {
        // What it is found by changes with the seal; and no secret may stand beside the attributes of the other form.
        guard sealedBy == form.sealedBy else { return nil }
        let wanted =
            isOurs
            ? ItemCoding.merged(ItemCoding.attributes(of: details, as: form), over: self)
            : ItemCoding.attributes(of: details, as: form, over: self)
        return isKeePassXCs && !attributes.keys.allSatisfy({ wanted[$0] != nil }) ? nil : wanted
    }

    /// What of these attributes can be set: KeePassXC refuses to have set some of those that it adds itself.
    func settable(_ wanted: [String: String]) -> [String: String] {
        isKeePassXCs ? wanted.filter { !AttributeNames.ofKeePassXC.contains($0.key) } : wanted
    }

    private func names(_ name: ItemName) -> Bool {
        let names = AttributeNames.names(in: name.namespace, areSealed: sealedBy != nil)
        return same(names.service, name.service) && same(names.account, name.account)
    }

    private func same(_ attribute: String, _ value: String) -> Bool {
        attributes[attribute].map { $0.utf8.elementsEqual(value.utf8) } ?? false
    }
}
