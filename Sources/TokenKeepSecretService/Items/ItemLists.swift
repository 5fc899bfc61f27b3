import TokenKeepCore

/// Lists the items of the service.
struct ItemLists: ServicePart {
    let whole: ServiceCall

    /// The maximum number of calls sent in one exchange.
    static let batch = 128

    /// Lists TokenKeep's items of a namespace. The listing also contains the errors of locked and unreadable items.
    func list(namespace: String, service: String?) throws(TokenKeepError) -> ItemListing {
        let what = service.map { "the items of \($0)" } ?? "the items"
        let searches = ItemLists.searches(namespace: namespace, service: service, sealing)
        var paths: [ItemName: [ObjectPath]] = [:]
        let listing = try list(searches, what) { item throws(TokenKeepError) in
            let details = try details(of: item, namespace: namespace, service: service)
            if let name = details?.name { paths[name, default: []].append(item.path) }
            return details
        }
        if service != nil { notePaths(paths) }
        return listing
    }

    /// Caches the path of each item that has no copies, so that a later load need not search first.
    private func notePaths(_ found: [ItemName: [ObjectPath]]) {
        for (name, paths) in found where paths.count == 1 && link.paths[name] == nil {
            link.paths[name] = PathCache.Entry(path: paths[0])
        }
    }

    /// The searches that together find the items that ``list(namespace:service:)`` returns.
    static func searches(namespace: String, service: String?, _ sealing: ItemSealing) -> [[String: String]] {
        let maybeSealed = namespace.isEmpty && service != nil && sealing.mayBeThere
        return ItemCoding.searches(namespace: namespace, service: service, maybeSealed: maybeSealed)
    }

    /// The names of the items, in every namespace, that a vault sealed. Leaves out unreadable items.
    func names(sealedBy vaultID: String) throws(TokenKeepError) -> [ItemName] {
        let searches = [ItemCoding.search(sealedBy: vaultID)]
        return try list(searches, "the sealed items") { item throws(TokenKeepError) in
            guard item.sealedBy == vaultID else { return nil }
            let namespace = item.attributes[AttributeNames.namespace] ?? ""
            return try details(of: item, namespace: namespace, service: nil)
        }.items.map(\.name)
    }

    /// The namespaces in which TokenKeep has items. Leaves out unreadable items.
    func namespaces() throws(TokenKeepError) -> Set<String> {
        var found: Set<String> = []
        // The items that TokenKeep made have its schema in every namespace, so the search by schema, which belongs to
        // the empty namespace, finds all of them.
        let searches = ItemCoding.searches(namespace: "", service: nil, maybeSealed: false)
        _ = try list(searches, "the items") { item throws(TokenKeepError) in
            let namespace = item.attributes[AttributeNames.namespace] ?? ""
            if item.isOurs(namespace: namespace) { found.insert(namespace) }
            return nil
        }
        return found
    }

    /// Lists the items that at least one of these searches finds. Errors of locked and unreadable items are in the
    /// listing.
    ///
    /// - Parameter details: reads one item; returns nil if the item does not belong to the list.
    private func list(
        _ searches: [[String: String]], _ what: String,
        _ details: (StoredItem) throws(TokenKeepError) -> ItemDetails?
    ) throws(TokenKeepError) -> ItemListing {
        var (paths, locked) = try search.matches(anyOf: searches, for: what)
        let (opened, hidden) = try locks.unlockHidden(
            locked, asksCollection: true, found: !paths.isEmpty, subject: what)
        if opened { (paths, locked) = try search.matches(anyOf: searches, for: what) }
        var listing = ItemListing(problem: hidden ?? (locked.isEmpty ? nil : ServiceFailure.locked(what)))
        if paths.isEmpty, let problem = listing.problem { throw problem }
        var newest: [ItemName: ItemDetails] = [:]
        for start in stride(from: 0, to: paths.count, by: ItemLists.batch) {
            let batch = paths[start..<min(start + ItemLists.batch, paths.count)]
            let replies: [Reply]
            do throws(TokenKeepError) {
                replies = try exchange(batch.map(getAll))
            } catch {
                // Some services need a second for a few hundred items. So a timeout is no failure of the whole list:
                // return the items that were read so far, with an error.
                guard error.status == .timedOut, !newest.isEmpty else { throw error }
                listing.problem = TokenKeepError(
                    .timedOut, "the Secret Service did not tell of all items in time", hint: "give the call more time")
                break
            }
            for (path, reply) in zip(batch, replies) {
                do throws(TokenKeepError) {
                    guard let item = try search.storedItem(reply, at: path, of: searches, subject: what) else {
                        continue
                    }
                    add(try details(item), to: &newest)
                } catch {
                    guard error.status == .corrupt else { throw error }
                    listing.count(error)
                }
            }
        }
        listing.items = newest.values.sorted { $0.name < $1.name }
        return listing
    }

    private func details(
        of item: StoredItem, namespace: String, service: String?
    ) throws(TokenKeepError) -> ItemDetails? {
        // Some services return more items than the search matches.
        guard item.isOurs(namespace: namespace), try !sealing.isAnothers(item) else { return nil }
        let name = try ItemCoding.name(of: item, namespace: namespace)
        guard name.isIn(namespace: namespace, service: service) else { return nil }
        return try ItemCoding.details(of: item, name: name, module: module)
    }

    private func add(_ details: ItemDetails?, to newest: inout [ItemName: ItemDetails]) {
        guard let details else { return }
        if let other = newest[details.name], let time = other.modifiedAt, time >= details.modifiedAt ?? time { return }
        newest[details.name] = details
    }
}
