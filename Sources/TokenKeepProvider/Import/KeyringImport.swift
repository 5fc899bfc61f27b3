import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords
import TokenKeepTerminal

/// Saves the items of another keyring in the vault, and reads each saved item back.
struct KeyringImport {
    private let keyring: ForeignKeyring
    private let records: Records
    private let writer: VaultWriter
    private let isDryRun: Bool
    private let isReplacing: Bool
    /// The vault's items that have not been matched with an entry yet. An item is matched only once, so that two equal
    /// entries become two items.
    private var index: ItemIndex

    private(set) var imported = 0
    private(set) var present = 0
    private(set) var kept = 0
    private(set) var refused = 0
    /// The items of tools whose secrets were read back from the vault.
    private(set) var verified: [(item: ForeignItem, tool: ToolItem)] = []

    /// Prepares an import into a store's vault.
    ///
    /// - Throws: ``Status/locked`` if the vault is locked.
    init(_ keyring: ForeignKeyring, _ store: Store, isDryRun: Bool, isReplacing: Bool) throws(TokenKeepError) {
        (self.keyring, self.isDryRun, self.isReplacing) = (keyring, isDryRun, isReplacing)
        records = store.records
        writer = VaultWriter(records: store.records)
        index = ItemIndex()
        let found = try records.everyItem(CallContext(deadline: Deadline(milliseconds: 60_000)))
        if let problem = found.problems.first(where: { $0.status == .locked }) { throw problem }
        for details in found.items {
            switch ItemMapping.object(of: details) {
            case .item(let item): index.put(item)
            case .collection(let collection): index.put(collection)
            case nil: break
            }
        }
    }

    var collections: [String: IndexedCollection] { index.collections }

    /// Imports every entry of a plan.
    mutating func run(_ plan: ImportPlan) throws(TokenKeepError) {
        for (id, label) in plan.collections.sorted(by: { $0.key < $1.key }) { try makeCollection(id, label) }
        var namesakes: [ItemName: [ImportPlan.Entry]] = [:]
        for entry in plan.entries {
            if let name = entry.place.name { namesakes[name, default: []].append(entry) }
        }
        for entry in plan.entries {
            guard let name = entry.place.name else {
                _ = try importEntry(entry)
                continue
            }
            guard let group = namesakes[name], group.last?.item.path == entry.item.path else { continue }
            try importNewest(of: group, ownNames: plan.ownNames)
        }
    }

    /// Imports the newest entry of one name that can be imported. The others are kept, and so is the imported item: without
    /// it, a later import would take an older one for the newest.
    private mutating func importNewest(
        of group: [ImportPlan.Entry], ownNames: Set<ItemName>
    ) throws(TokenKeepError) {
        var isDone = false
        for entry in group.reversed() {
            if isDone {
                keep(entry.item, "a newer item of the keyring has the same service and username")
            } else if case .tool(let tool) = entry.place, ownNames.contains(tool.name) {
                keep(entry.item, "the keyring has TokenKeep's own item \(tool.name), which is read before the vault's")
            } else {
                isDone = try importEntry(entry)
            }
        }
        if group.count > 1 {
            verified.removeAll { item in group.contains { $0.item.path == item.item.path } }
        }
    }

    /// Imports an entry. Returns false if it cannot be imported.
    private mutating func importEntry(_ entry: ImportPlan.Entry) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            let (secret, contentType) = try keyring.secret(of: entry.item.path)
            try Limits.checkSecret(count: secret.count)
            if case .tool(let tool) = entry.place {
                try importItem(entry.item, of: tool, secret)
                return true
            }
            let lookup = try LookupFields(
                attributes: entry.item.attributes, contentType: contentType,
                label: entry.item.label.utf8.count > LookupFields.labelLength ? entry.item.label : nil)
            try save(secret, lookup, entry)
            return true
        } catch {
            guard error.status == .invalid || error.status == .policy || error.isOfForeignObject else { throw error }
            refused += 1
            Log.line("\(describe(entry.item)) cannot be imported: \(error.message)")
            return false
        }
    }

    private mutating func importItem(
        _ item: ForeignItem, of tool: ToolItem, _ stored: SecretBytes
    ) throws(TokenKeepError) {
        let value = try tool.value(of: stored)
        try Limits.checkSecret(count: value.secret.count)
        let before = try itemIfPresent(tool.name)
        if let before, tool.isSaved(value, in: before) {
            present += 1
        } else if let before, before.secret != value.secret, !isReplacing {
            return keep(item, "\(tool.name) is there with another secret (to replace it: --replace)")
        } else {
            if !isDryRun {
                let request = try SaveRequest(
                    name: tool.name, secret: value.secret, attributes: value.attributes, expiresAt: value.expiresAt)
                try writer.save(request, dates: (item.created, item.modified))
                guard tool.isSaved(value, in: try writer.load(tool.name)) else {
                    throw TokenKeepError(.corrupt, "\(describe(item)) was saved, and read back with another secret")
                }
            }
            imported += 1
        }
        if let host = tool.hostThatNeedsPath {
            let setting = ShellWord.quoted("credential.\(host).useHttpPath")
            Log.line(
                "\(describe(item)) is for one path, and stays in the keyring: git asks for it after "
                    + "git config --global \(setting) true")
        } else if value.hasRest {
            Log.line("\(describe(item)) stays in the keyring: it has lines that no item of TokenKeep's can have")
        } else if !isDryRun {
            verified.append((item, tool))
        }
    }

    private mutating func save(
        _ secret: SecretBytes, _ lookup: LookupFields, _ entry: ImportPlan.Entry
    ) throws(TokenKeepError) {
        let (name, before) = try target(of: entry, secret)
        if let before, before == secret {
            present += 1
        } else if before != nil, !isReplacing {
            keep(entry.item, "it is there with another secret (to replace it: --replace)")
        } else {
            if !isDryRun {
                try write(secret, lookup, entry, to: name)
                guard try writer.load(name).secret == secret else {
                    throw TokenKeepError(
                        .corrupt, "\(describe(entry.item)) was saved, and read back with another secret")
                }
            }
            imported += 1
        }
    }

    private func write(
        _ secret: SecretBytes, _ lookup: LookupFields, _ entry: ImportPlan.Entry, to name: ItemName
    ) throws(TokenKeepError) {
        if case .portal = entry.place {
            return try writer.replaceOrMake(name, secret, label: "portal")
        }
        let item = entry.item
        let label = item.label.isEmpty && name.namespace.isEmpty ? name.defaultLabel : item.label
        _ = try writer.save(name, secret, label: label, lookup: lookup, dates: (item.created, item.modified))
    }

    /// Finds or chooses the record for an entry. Returns its name, and its present secret or nil.
    private mutating func target(
        of entry: ImportPlan.Entry, _ secret: SecretBytes
    ) throws(TokenKeepError) -> (name: ItemName, before: SecretBytes?) {
        switch entry.place {
        case .shared(let name): return (name, try secretIfPresent(name))
        case .tool(let item): return (item.name, try secretIfPresent(item.name))
        case .portal(let program):
            let name = try Provider.portalName(of: program)
            return (name, try secretIfPresent(name))
        case .own(let collection):
            let equal = index.search(entry.item.attributes, in: collection).filter {
                $0.attributes.count == entry.item.attributes.count
            }
            var candidate: (item: IndexedItem, name: ItemName, secret: SecretBytes)?
            for item in equal {
                guard let name = item.name, let found = try secretIfPresent(name) else { continue }
                if found == secret || candidate == nil { candidate = (item, name, found) }
                if found == secret { break }
            }
            guard let candidate else {
                return (try Provider.reservedName(collection, Provider.newID()).get(), nil)
            }
            index.remove(candidate.item)
            return (candidate.name, candidate.secret)
        }
    }

    private func secretIfPresent(_ name: ItemName) throws(TokenKeepError) -> SecretBytes? {
        try itemIfPresent(name)?.secret
    }

    private func itemIfPresent(_ name: ItemName) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try writer.load(name)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    private mutating func makeCollection(_ id: String, _ label: String) throws(TokenKeepError) {
        guard index.collections[id] == nil, let name = Provider.recordName(ofCollection: id) else { return }
        index.put(IndexedCollection(id: id, label: label))
        guard !isDryRun else { return }
        _ = try writer.save(
            name, try SecretBytes(""), label: label, lookup: try LookupFields(attributes: [:], contentType: ""))
    }

    private mutating func keep(_ item: ForeignItem, _ reason: String) {
        kept += 1
        Log.line("\(describe(item)) is not imported: \(reason)")
    }

    /// Describes an item for messages by label and path, without attributes.
    private func describe(_ item: ForeignItem) -> String { "\"\(item.label)\" (\(item.path))" }
}

extension KeyringImport {
    /// Deletes the items of ``verified`` from the keyring. An item that changed meanwhile stays, and so does an item that
    /// the keyring deletes only after a question.
    ///
    /// - Returns: the numbers of deleted items and of items that stay.
    func removeVerified() throws(TokenKeepError) -> (removed: Int, left: Int) {
        var (removed, left) = (0, 0)
        for (item, tool) in verified {
            do throws(TokenKeepError) {
                try remove(item, tool)
                removed += 1
            } catch {
                guard error.isOfForeignObject || [.conflict, .invalid, .notFound].contains(error.status) else {
                    throw error
                }
                left += 1
                Log.line("\(describe(item)) stays in the keyring: \(error.message)")
            }
        }
        return (removed, left)
    }

    /// Deletes an item whose secret is in the vault at this moment.
    private func remove(_ item: ForeignItem, _ tool: ToolItem) throws(TokenKeepError) {
        let now = try keyring.item(at: item.path)
        let stored = try keyring.secret(of: item.path).secret
        let value = try tool.value(of: stored)
        guard now.attributes == item.attributes, !value.hasRest, tool.isSaved(value, in: try writer.load(tool.name))
        else {
            throw TokenKeepError(.conflict, "it has another secret, expiry or other attributes by now")
        }
        try keyring.delete(item.path)
    }
}
