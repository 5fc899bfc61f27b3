import TokenKeepCore

/// An item as the service describes it. The properties' types have been checked, but not their values.
struct StoredItem {
    let path: ObjectPath
    var attributes: [String: String]
    let label: String
    let created: UInt64
    var modified: UInt64
    let isLocked: Bool

    /// Parses the properties of an item, of type `(a{sv})`; nil if a required property is missing or has a wrong type.
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

    /// The ID of the vault whose key seals the secret; nil if the secret is not sealed.
    var sealedBy: String? { attributes[AttributeNames.sealed] }

    /// Whether TokenKeep made or adopted the item, and the item has this name.
    func isOurs(_ name: ItemName) -> Bool { isOurs(namespace: name.namespace) && names(name) }

    /// Whether TokenKeep made or adopted the item, in this namespace.
    ///
    /// If the item has the attribute for the namespace, the attribute decides, because only TokenKeep writes it. A
    /// program that replaces an item of the empty namespace, by service and username, removes the attribute. Then the
    /// schema decides: the item is TokenKeep's if it has TokenKeep's schema, and foreign if it has another schema.
    /// gnome-keyring sometimes keeps the schema when an item is replaced, and sometimes removes it.
    func isOurs(namespace: String) -> Bool {
        let schema = attributes[AttributeNames.schema] ?? AttributeNames.genericSchema
        guard attributes[AttributeNames.namespace] != nil else {
            return namespace.isEmpty && schema == AttributeNames.ourSchema
        }
        return same(AttributeNames.namespace, namespace)
            && (schema == AttributeNames.ourSchema || schema == AttributeNames.genericSchema)
    }

    /// Whether another program made the item and TokenKeep later saved over it.
    ///
    /// Such an item keeps the schema and the label by which the other program finds it.
    var isAdopted: Bool {
        attributes[AttributeNames.namespace] != nil && attributes[AttributeNames.label] != nil
    }

    /// The label that the item gets by a save. An item that another program made keeps its label.
    func label(for details: ItemDetails, isOurs: Bool) -> String {
        isOurs && !isAdopted ? details.label : label
    }

    /// Whether the item is foreign and has this name: its service and username are those of the name, and it has no
    /// attribute that a foreign item may not have.
    ///
    /// Only the empty namespace has foreign items.
    func isForeign(_ name: ItemName) -> Bool {
        name.namespace.isEmpty && names(name) && attributes[AttributeNames.namespace] == nil
            && (attributes[AttributeNames.schema] ?? AttributeNames.genericSchema) == AttributeNames.genericSchema
            && attributes.keys.allSatisfy {
                AttributeNames.ofOthers.contains($0) || AttributeNames.ofKeePassXC.contains($0)
                    || $0.hasPrefix(AttributeNames.prefix)
            }
    }

    /// Whether the attributes equal `wanted`, byte by byte. Swift's `==` also accepts canonically equivalent texts.
    func hasExactly(_ wanted: [String: String]) -> Bool {
        attributes.count == wanted.count
            && wanted.allSatisfy { name, value in attributes[name]?.utf8.elementsEqual(value.utf8) ?? false }
    }

    /// Whether the item is in KeePassXC, which never removes attributes, and prompts before it deletes an item.
    var isKeePassXCs: Bool { attributes["Uuid"] != nil && attributes["Path"] != nil }

    /// The item's attributes after a save; nil if the save must make a new item instead.
    func attributes(for details: ItemDetails, as form: StoredForm, isOurs: Bool) -> [String: String]? {
        // Sealed and plain items are searched for by different attributes, so a secret of one form must never get the
        // attributes of the other.
        guard sealedBy == form.sealedBy else { return nil }
        let wanted =
            isOurs && !isAdopted
            ? ItemCoding.merged(ItemCoding.attributes(of: details, as: form), over: self)
            : ItemCoding.attributes(of: details, as: form, over: self, isAdopting: true)
        return isKeePassXCs && !attributes.keys.allSatisfy({ wanted[$0] != nil }) ? nil : wanted
    }

    /// The attributes in `wanted` that a save can set. KeePassXC refuses some attributes, which it sets itself.
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
