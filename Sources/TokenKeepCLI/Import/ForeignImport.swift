import TokenKeepCore
import TokenKeepEngine

/// Saves the entries of another program's file as items. An entry counts as imported only after its secret was read
/// back from the store.
struct ForeignImport {
    let store: Store
    let isReplacing: Bool
    let isDryRun: Bool

    /// The number of imported entries. The two further numbers count entries whose secrets the store had already, and
    /// entries whose items keep another secret.
    private(set) var imported = 0
    private(set) var present = 0
    private(set) var kept = 0
    /// The number of entries that the store refused.
    private(set) var refused = 0
    /// The entries whose secrets the store contains, as a read after the save showed.
    private(set) var verified: [ForeignEntry] = []
    /// The items of entries of which a later entry with the same name stays in the source.
    private(set) var shadowing: Set<ItemName> = []
    private var seen: Set<ItemName> = []
    /// The services of which an item must be newer than the items that were saved before it.
    private var ordered: Set<String> = []
    /// The items that a dry run would have saved, by name.
    private var planned: [ItemName: Kept] = [:]

    /// The secret and the address of an item.
    private typealias Kept = (secret: SecretBytes, address: String?)

    init(store: Store, isReplacing: Bool, isDryRun: Bool) {
        self.store = store
        self.isReplacing = isReplacing
        self.isDryRun = isDryRun
    }

    /// Imports one entry.
    ///
    /// If only this entry cannot be saved, for example because the record with its name is damaged, warns and counts
    /// the entry as refused. If the failure concerns every entry, for example a locked vault, throws.
    ///
    /// - Throws: the failure of a save or a load. Entries that were imported before stay imported.
    mutating func run(_ entry: ForeignEntry) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try transfer(entry)
        } catch {
            let named = TokenKeepError(
                error.status, "\(entry.place): \(error.message)", module: error.module, hint: error.hint)
            guard ForeignImport.isOfOneEntry(error.status) else { throw named }
            refused += 1
            Terminal.warn(named)
        }
    }

    /// The order in which entries are imported.
    ///
    /// git uses the first line of a host, and writes the newest line first. An item is the newest if it was saved last, so
    /// the first line is saved last. Entries whose names occurred before come at the end.
    mutating func order(_ entries: [ForeignEntry], of format: ForeignFormat) -> [ForeignEntry] {
        guard format == .gitCredentials else { return entries }
        var names: Set<ItemName> = []
        let isFirst = entries.map { names.insert($0.name).inserted }
        let firsts = zip(entries, isFirst).filter(\.1).map(\.0)
        ordered = Set(Dictionary(grouping: firsts, by: \.name.service).filter { $0.value.count > 1 }.keys)
        return firsts.reversed() + zip(entries, isFirst).filter { !$0.1 }.map(\.0)
    }

    /// Throws the error if no entry can be imported, for example because the vault is locked. The caller checks this
    /// before the source's secrets are read.
    func checkOpen(for name: ItemName) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            _ = try kept(name)
        } catch {
            guard ForeignImport.isOfOneEntry(error.status) else { throw error }
        }
    }

    private static func isOfOneEntry(_ status: Status) -> Bool {
        [.invalid, .duplicate, .conflict, .corrupt, .policy].contains(status)
    }

    private mutating func transfer(_ entry: ForeignEntry) throws(TokenKeepError) {
        // If several entries have the same name, the first entry is imported, because programs use the first entry.
        let isFirst = seen.insert(entry.name).inserted
        var present = planned[entry.name]
        if present == nil { present = try kept(entry.name) }
        if let present, present.secret == entry.secret {
            self.present += 1
            verified.append(entry.kept(withAddress: present.address))
        } else if present != nil, !isReplacing || !isFirst {
            kept += 1
            if !isFirst { shadowing.insert(entry.name) }
            Terminal.warn(
                TokenKeepError(
                    .duplicate, "\(entry.place): \(entry.name) is there with another secret, and is kept",
                    hint: isFirst ? "to replace it: --replace" : "an earlier entry has the same name"))
        } else if isDryRun {
            planned[entry.name] = (entry.secret, entry.address)
            imported += 1
        } else {
            do throws(TokenKeepError) {
                try save(entry, isNew: present == nil)
                imported += 1
            } catch {
                // Another import has saved the same entry meanwhile.
                guard error.status == .duplicate, let other = try kept(entry.name), other.secret == entry.secret
                else { throw error }
                self.present += 1
                verified.append(entry.kept(withAddress: other.address))
                return
            }
            verified.append(entry)
        }
    }

    private func save(_ entry: ForeignEntry, isNew: Bool) throws(TokenKeepError) {
        var attributes: [(String, String)] = []
        if let address = entry.address { attributes.append(("url", address)) }
        var saved = try ItemAttributes(attributes)
        if ordered.contains(entry.name.service) {
            let others = try? store.list(service: entry.name.service, until: store.deadline).items
            saved = try SaveOrder.attributes(saved, of: entry.name, after: others ?? [])
        }
        let request = try SaveRequest(
            name: entry.name, secret: entry.secret, label: entry.label, attributes: saved,
            precondition: isNew ? .absent : .none)
        _ = try store.save(request)
        guard try kept(entry.name)?.secret == entry.secret else {
            throw TokenKeepError(.corrupt, "\(entry.name) was saved, and read back with another secret")
        }
    }

    private func kept(_ name: ItemName) throws(TokenKeepError) -> Kept? {
        do throws(TokenKeepError) {
            let item = try store.load(service: name.service, account: name.account)
            return (item.secret, item.details.attributes["url"])
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }
}
