import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Changes items of the vault for clients of the bus. Each change is durable when the call returns.
///
/// Used by any thread. Pending writes of an item for other modules stay pending.
struct VaultWriter: Sendable {
    let records: Records
    private static let limit: UInt32 = 30_000

    private var call: CallContext { CallContext(deadline: Deadline(milliseconds: VaultWriter.limit)) }

    /// Loads an item with its secret.
    func load(_ name: ItemName) throws(TokenKeepError) -> TokenItem {
        guard let item = try records.item(name, call) else {
            throw TokenKeepError(.notFound, "the item is gone", module: "vault")
        }
        return item
    }

    /// Saves an item. An existing item keeps its level, its flags and its own attributes.
    ///
    /// - Parameters:
    ///   - newID: the identifier on the bus if the item is new; nil for the identifier derived from its name.
    ///   - dates: the times of creation and modification in another keyring, in seconds since 1970; nil for now.
    /// - Throws: ``Status/policy`` if the item needs a protection that the bus cannot give.
    func save(
        _ name: ItemName, _ secret: SecretBytes, label: String, lookup: LookupFields, newID: String? = nil,
        dates: (created: UInt64, modified: UInt64)? = nil
    ) throws(TokenKeepError) -> ItemDetails {
        let shown = VaultWriter.shown(label, for: name)
        return try change(name) { (present, _) throws(TokenKeepError) in
            try VaultWriter.checkNeedsNoPresence(present)
            var request = try SaveRequest(
                name: name, secret: secret, label: shown, attributes: present?.attributes ?? .none,
                expiresAt: nil)
            var fields = try VaultWriter.labelled(lookup, label, shown: shown)
            fields.itemID = lookup.itemID ?? present?.lookup?.itemID ?? (present == nil ? newID : nil)
            request.lookup = fields
            var details = request.details(replacing: present, module: "vault")
            if let dates { VaultWriter.set(dates, in: &details) }
            return TokenItem(details: details, secret: secret)
        }
    }

    /// Saves an item that no client of the bus stored, with its dates in another keyring, in seconds since 1970.
    ///
    /// - Throws: ``Status/policy`` if the item needs a protection that the bus cannot give.
    func save(_ request: SaveRequest, dates: (created: UInt64, modified: UInt64)) throws(TokenKeepError) {
        _ = try change(request.name) { (present, _) throws(TokenKeepError) in
            try VaultWriter.checkNeedsNoPresence(present)
            var details = request.details(replacing: present, module: "vault")
            VaultWriter.set(dates, in: &details)
            return TokenItem(details: details, secret: request.secret)
        }
    }

    private static func set(_ dates: (created: UInt64, modified: UInt64), in details: inout ItemDetails) {
        guard dates.created > 0, dates.modified > 0 else { return }
        details.createdAt = UnixTime(Int64(clamping: dates.created))
        details.modifiedAt = UnixTime(Int64(clamping: dates.modified))
    }

    /// Saves an item without lookup attributes, and replaces the item that exists.
    func replaceOrMake(_ name: ItemName, _ secret: SecretBytes, label: String) throws(TokenKeepError) {
        _ = try change(name) { (present, _) throws(TokenKeepError) in
            let request = try SaveRequest(name: name, secret: secret, label: label)
            return TokenItem(details: request.details(replacing: present, module: "vault"), secret: secret)
        }
    }

    /// Replaces the secret of an item that exists.
    func replace(_ name: ItemName, _ secret: SecretBytes, contentType: String) throws(TokenKeepError) -> ItemDetails {
        try Limits.checkSecret(count: secret.count)
        return try change(name) { (present, _) throws(TokenKeepError) in
            guard var details = present else { throw VaultWriter.gone }
            if details.lookup != nil || contentType != ItemMapping.usualContentType {
                let lookup = details.lookup
                details.lookup = try LookupFields(
                    attributes: lookup?.attributes ?? [:], contentType: contentType, label: lookup?.label,
                    itemID: lookup?.itemID)
            }
            details.modifiedAt = .now
            return TokenItem(details: details, secret: secret)
        }
    }

    /// Replaces an item's label, its lookup fields, or both.
    func describe(
        _ name: ItemName, label: String? = nil, lookup: LookupFields? = nil
    ) throws(TokenKeepError) -> ItemDetails {
        try change(name) { (present, secret) throws(TokenKeepError) in
            guard var details = present, let secret = try secret() else { throw VaultWriter.gone }
            if var lookup {
                lookup.label = lookup.label ?? details.lookup?.label
                lookup.itemID = lookup.itemID ?? details.lookup?.itemID
                details.lookup = lookup
            }
            if let label {
                details.label = VaultWriter.shown(label, for: name)
                if details.lookup == nil, !details.label.hasBytes(of: label) {
                    details.lookup = try LookupFields(attributes: [:], contentType: ItemMapping.usualContentType)
                }
                if let fields = details.lookup {
                    details.lookup = try VaultWriter.labelled(fields, label, shown: details.label)
                }
            }
            details.modifiedAt = .now
            return TokenItem(details: details, secret: secret)
        }
    }

    /// Writes an identifier into an item's record, in place of the identifier derived from its name.
    func pin(_ name: ItemName, _ id: String) throws(TokenKeepError) -> ItemDetails {
        try change(name) { (present, secret) throws(TokenKeepError) in
            guard var details = present, let secret = try secret() else { throw VaultWriter.gone }
            let lookup = details.lookup
            details.lookup = try LookupFields(
                attributes: lookup?.attributes ?? [:], contentType: lookup?.contentType ?? ItemMapping.usualContentType,
                label: lookup?.label, itemID: id)
            return TokenItem(details: details, secret: secret)
        }
    }

    /// Removes an item. Returns false if there was none.
    func remove(_ name: ItemName) throws(TokenKeepError) -> Bool {
        var item = try records.begin(name, call)
        return try item.clear()
    }

    /// Returns an item's secret, and makes the item if there is none.
    func secret(_ name: ItemName, label: String, orMake make: () throws(TokenKeepError) -> SecretBytes)
        throws(TokenKeepError) -> SecretBytes
    {
        if let item = try records.item(name, call) { return item.secret }
        var kept: SecretBytes?
        _ = try change(name) { (present, secret) throws(TokenKeepError) in
            if let present, let secret = try secret() {
                kept = secret
                return TokenItem(details: present, secret: secret)
            }
            let made = try make()
            kept = made
            let request = try SaveRequest(name: name, secret: made, label: label)
            return TokenItem(details: request.details(replacing: nil, module: "vault"), secret: made)
        }
        guard let kept else { throw VaultWriter.gone }
        return kept
    }

    private static var gone: TokenKeepError { TokenKeepError(.notFound, "the item is gone", module: "vault") }

    /// Replaces a record by the record that `edit` returns for it, while the item's lock is held.
    private func change(
        _ name: ItemName,
        _ edit: (ItemDetails?, () throws(TokenKeepError) -> SecretBytes?) throws(TokenKeepError) -> TokenItem
    ) throws(TokenKeepError) -> ItemDetails {
        var item = try records.begin(name, call)
        let record = item.entry.record
        let edited = try edit(record?.openDetails()) { () throws(TokenKeepError) in try record?.item()?.secret }
        var details = edited.details
        details.version = item.keys.versions.version(of: details, secret: edited.secret)
        let pending = (record?.pendingBeforeChange(item.keys) ?? []).map(\.renewed)
        try VaultWriter.checkLength(details)
        try item.apply(.parts(value: TokenItem(details: details, secret: edited.secret), pending: pending))
        return details
    }

    /// The maximum length of a record's metadata, in bytes.
    private static let metadataLimit = 65_536

    private static func checkLength(_ details: ItemDetails) throws(TokenKeepError) {
        guard MetadataFields(details: details).serialized().count <= metadataLimit else {
            throw TokenKeepError(.invalid, "the attributes of the item are too long together")
        }
    }

    private static func checkNeedsNoPresence(_ present: ItemDetails?) throws(TokenKeepError) {
        guard present?.flags.contains(.userPresence) != true else {
            throw TokenKeepError(.policy, "the item needs the password at each use", module: "vault")
        }
    }

    /// Adds the label to the lookup fields if the record itself cannot hold the label.
    private static func labelled(
        _ lookup: LookupFields, _ label: String, shown: String
    ) throws(TokenKeepError) -> LookupFields {
        try LookupFields(
            attributes: lookup.attributes, contentType: lookup.contentType,
            label: shown.hasBytes(of: label) ? nil : label, itemID: lookup.itemID)
    }

    /// The label for the record: `label` if a record can hold it, otherwise a default.
    private static func shown(_ label: String, for name: ItemName) -> String {
        do throws(TokenKeepError) {
            try Limits.check(label, field: "label", atMost: Limits.label)
            return label
        } catch {
            return name.namespace.isEmpty ? name.defaultLabel : "item"
        }
    }
}

extension VaultWriter {
    /// Changes an item's lookup fields, and its record's name if it differs.
    ///
    /// The item keeps its identifier on the bus, its level, flags, own attributes and date of creation. The new record
    /// is durable before the old record is removed.
    ///
    /// - Throws: ``Status/policy`` if a present item with the new name needs a protection that the moved item lacks.
    func move(
        _ name: ItemName, to other: ItemName, _ fields: LookupFields, id: String
    ) throws(TokenKeepError) -> ItemDetails {
        var fields = fields
        if other.namespace.isEmpty, ItemMapping.id(of: other) != id { fields.itemID = id }
        guard other != name else { return try describe(name, lookup: fields) }
        let item = try load(name)
        let label = item.details.lookup?.label ?? item.details.label
        let shown = VaultWriter.shown(label, for: other)
        let lookup = try VaultWriter.labelled(fields, label, shown: shown)
        let details = try change(other) { (present, _) throws(TokenKeepError) in
            try VaultWriter.checkNeedsNoPresence(present)
            var details = item.details
            (details.name, details.label, details.lookup, details.modifiedAt) = (other, shown, lookup, .now)
            try details.checkLowersNothing(of: present, module: "vault")
            return TokenItem(details: details, secret: item.secret)
        }
        _ = try remove(name)
        return details
    }
}
