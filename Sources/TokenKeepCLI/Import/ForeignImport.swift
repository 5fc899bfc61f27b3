import TokenKeepCore
import TokenKeepEngine

/// Saves the entries of another program's file. An entry counts only after its secret was read back from the store.
struct ForeignImport {
    let store: Store
    let isReplacing: Bool
    let isDryRun: Bool

    /// The numbers of imported entries, of entries that were present already, and of items that keep another secret.
    private(set) var imported = 0
    private(set) var present = 0
    private(set) var kept = 0
    /// The entries whose secrets were read back from the store unchanged.
    private(set) var verified: [ForeignEntry] = []
    private var seen: Set<ItemName> = []
    /// The secrets that a dry run would have saved, by the names of their items.
    private var planned: [ItemName: SecretBytes] = [:]

    init(store: Store, isReplacing: Bool, isDryRun: Bool) {
        self.store = store
        self.isReplacing = isReplacing
        self.isDryRun = isDryRun
    }

    /// Imports one entry.
    ///
    /// - Throws: the failure of a save or a load. Entries that were imported before stay imported.
    mutating func run(_ entry: ForeignEntry) throws(TokenKeepError) {
        // If several entries have the same name, programs use the first entry.
        let isFirst = seen.insert(entry.name).inserted
        var present = planned[entry.name]
        if present == nil { present = try secret(of: entry.name) }
        if let present, present == entry.secret {
            self.present += 1
            verified.append(entry)
        } else if present != nil, !isReplacing || !isFirst {
            kept += 1
            Terminal.warn(
                TokenKeepError(
                    .duplicate, "\(entry.place): \(entry.name) is there with another secret, and is kept",
                    hint: isFirst ? "to replace it: --replace" : "an earlier entry has the same name"))
        } else if isDryRun {
            planned[entry.name] = entry.secret
            imported += 1
        } else {
            try save(entry, isNew: present == nil)
            imported += 1
            verified.append(entry)
        }
    }

    private func save(_ entry: ForeignEntry, isNew: Bool) throws(TokenKeepError) {
        var attributes: [(String, String)] = []
        if let address = entry.address { attributes.append(("url", address)) }
        let request = try SaveRequest(
            name: entry.name, secret: entry.secret, label: entry.label, attributes: ItemAttributes(attributes),
            precondition: isNew ? .absent : .none)
        _ = try store.save(request)
        guard try secret(of: entry.name) == entry.secret else {
            throw TokenKeepError(.corrupt, "\(entry.name) was saved, and read back with another secret")
        }
    }

    private func secret(of name: ItemName) throws(TokenKeepError) -> SecretBytes? {
        do throws(TokenKeepError) {
            return try store.load(service: name.service, account: name.account).secret
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }
}
