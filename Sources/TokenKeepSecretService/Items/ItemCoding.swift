import TokenKeepCore

/// Converts between the attributes of a stored item and an item's details.
enum ItemCoding {
    /// The searches that together find an item; in the empty namespace also foreign items of the same name.
    static func searches(for name: ItemName, maybeSealed: Bool) -> [[String: String]] {
        // Outside the empty namespace, sealed and plain items have the same attributes for service and account.
        let forms = name.namespace.isEmpty && maybeSealed ? [false, true] : [false]
        return forms.map { areSealed in
            let names = AttributeNames.names(in: name.namespace, areSealed: areSealed)
            var search = [names.service: name.service, names.account: name.account]
            if names.service == AttributeNames.ownService { search[AttributeNames.namespace] = name.namespace }
            return search
        }
    }

    /// The searches that together find TokenKeep's items of a namespace.
    ///
    /// In the empty namespace, the schema or the attribute for the namespace identifies an item of TokenKeep. Another
    /// program that overwrites the item may remove either of them.
    static func searches(namespace: String, service: String?, maybeSealed: Bool) -> [[String: String]] {
        let byNamespace = [AttributeNames.namespace: namespace]
        guard namespace.isEmpty else {
            return [byNamespace.merging(service.map { [AttributeNames.ownService: $0] } ?? [:]) { $1 }]
        }
        let marks = [[AttributeNames.schema: AttributeNames.ourSchema], byNamespace]
        guard let service else { return marks }
        let searches = marks.map { $0.merging([AttributeNames.service: service]) { $1 } }
        return maybeSealed ? searches + [byNamespace.merging([AttributeNames.ownService: service]) { $1 }] : searches
    }

    /// The search for all items that a vault sealed.
    static func search(sealedBy vaultID: String) -> [String: String] { [AttributeNames.sealed: vaultID] }

    /// The attributes of an item that TokenKeep makes.
    static func attributes(of details: ItemDetails, as form: StoredForm) -> [String: String] {
        var attributes = metadata(of: details, as: form)
        attributes[AttributeNames.schema] = AttributeNames.ourSchema
        attributes[AttributeNames.sealed] = form.sealedBy
        let names = AttributeNames.names(in: details.name.namespace, areSealed: form.sealedBy != nil)
        attributes[names.service] = details.name.service
        attributes[names.account] = details.name.account
        attributes[AttributeNames.namespace] = details.name.namespace
        attributes[AttributeNames.access] = details.accessLevel.word
        return attributes
    }

    /// The attributes of a foreign item after TokenKeep has saved over the item.
    ///
    /// The item keeps its own attributes. TokenKeep adds an attribute only if information would be lost without it.
    ///
    /// - Parameter isAdopting: whether the item counts as TokenKeep's from now on, so that a list includes the item,
    ///   and clearing its service removes the item.
    static func attributes(
        of details: ItemDetails, as form: StoredForm, over foreign: StoredItem, isAdopting: Bool
    ) -> [String: String] {
        let kept = foreign.attributes.filter { !$0.key.hasPrefix(AttributeNames.prefix) }
        var added = metadata(of: details, as: form)
        if isAdopting {
            added[AttributeNames.namespace] = details.name.namespace
            added[AttributeNames.label] = details.label
        }
        if details.accessLevel != .afterFirstUnlock { added[AttributeNames.access] = details.accessLevel.word }
        return kept.merging(added) { _, new in new }
    }

    private static func metadata(of details: ItemDetails, as form: StoredForm) -> [String: String] {
        var attributes: [String: String] = [:]
        if let expires = details.expiresAt { attributes[AttributeNames.expires] = String(expires.rawValue) }
        if !details.flags.isEmpty { attributes[AttributeNames.flags] = String(details.flags.rawValue) }
        if form.isEncoded { attributes[AttributeNames.encoding] = StoredValue.base64 }
        for pair in details.attributes.pairs { attributes[AttributeNames.ownPrefix + pair.name] = pair.value }
        return attributes
    }

    /// The attributes of a stored item after a save. Keeps the attributes that other programs added.
    static func merged(_ wanted: [String: String], over stored: StoredItem) -> [String: String] {
        stored.attributes.filter { !$0.key.hasPrefix(AttributeNames.prefix) }.merging(wanted) { _, new in new }
    }

    /// The details of a stored item, with the version 0.
    ///
    /// - Throws: ``Status/corrupt`` if an attribute is malformed or exceeds its limits.
    static func details(of item: StoredItem, name: ItemName, module: String) throws(TokenKeepError) -> ItemDetails {
        do throws(TokenKeepError) {
            let label = item.attributes[AttributeNames.label] ?? item.label
            try Limits.check(label, field: "label", atMost: Limits.label)
            let level = try item.attributes[AttributeNames.access].map {
                (word) throws(TokenKeepError) in try AccessLevel(word: word)
            }
            var details = ItemDetails(
                name: name, label: label, attributes: try ownAttributes(of: item),
                accessLevel: level ?? .afterFirstUnlock,
                flags: ItemFlags(rawValue: try number(AttributeNames.flags, of: item) ?? 0),
                createdAt: time(item.created), modifiedAt: time(item.modified),
                expiresAt: try number(AttributeNames.expires, of: item).map { UnixTime($0) }, module: module)
            details.isSealed = item.sealedBy != nil
            details.isForeign = !item.isOurs(name)
            return details
        } catch {
            // Do not include this error's message: the message may quote the service, and the service could quote a
            // secret.
            throw TokenKeepError(
                .corrupt, "the Secret Service holds \(name) with a label or an attribute that cannot be read")
        }
    }

    /// The name of a listed item that TokenKeep made.
    ///
    /// - Throws: ``Status/corrupt`` if the item has no valid name.
    static func name(of item: StoredItem, namespace: String) throws(TokenKeepError) -> ItemName {
        let names = AttributeNames.names(in: namespace, areSealed: item.sealedBy != nil)
        guard let service = item.attributes[names.service], let account = item.attributes[names.account],
            let name = try? ItemName(namespace: namespace, service: service, account: account), item.isOurs(name)
        else { throw TokenKeepError(.corrupt, "an item on the Secret Service has no name that can be read") }
        return name
    }

    private static func ownAttributes(of item: StoredItem) throws(TokenKeepError) -> ItemAttributes {
        let own = item.attributes.filter { $0.key.hasPrefix(AttributeNames.ownPrefix) }
        guard !own.isEmpty else { return .none }
        return try ItemAttributes(own.map { (String($0.key.dropFirst(AttributeNames.ownPrefix.count)), $0.value) })
    }

    private static func number<Number: FixedWidthInteger>(
        _ attribute: String, of item: StoredItem
    ) throws(TokenKeepError) -> Number? {
        guard let text = item.attributes[attribute] else { return nil }
        guard let number = Number(text) else {
            throw TokenKeepError(.corrupt, "the attribute \(attribute) is not a number")
        }
        return number
    }

    private static func time(_ seconds: UInt64) -> UnixTime? {
        seconds == 0 ? nil : Int64(exactly: seconds).map { UnixTime($0) }
    }
}
