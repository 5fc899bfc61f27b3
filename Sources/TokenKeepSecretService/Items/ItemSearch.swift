import TokenKeepCore

/// The items on the service that have one name.
struct Findings {
    /// TokenKeep's items, newest first.
    var ours: [StoredItem] = []
    /// Foreign items, newest first.
    var foreign: [StoredItem] = []
    /// The paths of locked items that matched the search and may therefore have this name.
    var locked: [ObjectPath] = []
    /// Whether a search found several items with the same attributes.
    var hasCopies = false
    /// The reply to ``ServicePart/getSecrets(_:)``; nil if that call was not sent with the search.
    var secrets: Reply?

    /// The item that a load returns: TokenKeep's item, or the foreign item if that is newer.
    var best: StoredItem? {
        guard let ours = ours.first, let theirs = foreign.first else { return ours.first ?? foreign.first }
        // A foreign item never hides a sealed item, because the other program cannot have read the sealed secret.
        guard ours.sealedBy == nil else { return ours }
        return theirs.modified > ours.modified ? theirs : ours
    }
}

/// Finds the items that have one name.
struct ItemSearch: ServicePart {
    let whole: ServiceCall

    /// Reads the item at its last known path; if that fails, searches by the item's attributes.
    ///
    /// - Parameters:
    ///   - secret: whether to fetch the secret as well.
    ///   - copies: whether to search for copies at other paths as well.
    /// - Throws: ``Status/locked`` if the item may be in a collection that stayed locked; ``Status/unavailable``, as an
    ///   absence, if no item was found and there is no default collection.
    func find(_ name: ItemName, secret: Bool, copies: Bool = false) throws(TokenKeepError) -> Findings {
        if let path = link.paths[name]?.path {
            // In the empty namespace, another program may have saved a newer item beside TokenKeep's item.
            let isBeside = copies || name.namespace.isEmpty
            let finding = sealing.searches(for: name)
            let findings = try describe(
                [path], as: name, secret: secret, foundBy: finding, beside: isBeside ? finding.map(searchItems) : [])
            if findings.ours.first?.isLocked == false, !findings.hasCopies { return findings }
            link.paths[name] = nil
        }
        var findings = try findAnew(name, secret: secret)
        if findings.ours.isEmpty, try locks.unlock(findings, for: name) {
            findings = try findAnew(name, secret: secret)
            guard findings.best != nil || findings.locked.isEmpty else {
                throw ServiceFailure.locked(name.description)
            }
        }
        if let path = findings.ours.first?.path, !findings.hasCopies { link.paths[name] = PathCache.Entry(path: path) }
        return findings
    }

    /// Searches for an item by its attributes alone, which finds every copy of the item.
    ///
    /// If TokenKeep has no plain item, searches again for sealed items, even if no record lists a sealed copy.
    func findAnew(_ name: ItemName, secret: Bool) throws(TokenKeepError) -> Findings {
        let searches = sealing.searches(for: name)
        let findings = try findAnew(name, by: searches, secret: secret)
        guard findings.ours.isEmpty, name.namespace.isEmpty, searches.count == 1, sealing.mayBeThere else {
            return findings
        }
        let both = ItemCoding.searches(for: name, maybeSealed: true)
        let (unlocked, locked) = try matches(anyOf: Array(both.suffix(1)), for: name.description)
        guard !unlocked.isEmpty || !locked.isEmpty else { return findings }
        return try findAnew(name, by: both, secret: secret)
    }

    /// Searches for an item by its attributes alone, including sealed items that no record lists.
    func findEverywhere(_ name: ItemName, secret: Bool) throws(TokenKeepError) -> Findings {
        let maybeSealed = name.namespace.isEmpty && (sealing.hasSealedCopy(of: name) || sealing.mayBeThere)
        return try findAnew(name, by: ItemCoding.searches(for: name, maybeSealed: maybeSealed), secret: secret)
    }

    private func findAnew(
        _ name: ItemName, by searches: [[String: String]], secret: Bool
    ) throws(TokenKeepError) -> Findings {
        let (unlocked, locked) = try matches(anyOf: searches, for: name.description)
        guard unlocked.count <= ItemSearch.mostCopies else {
            throw TokenKeepError(
                .corrupt, "the Secret Service has more than \(ItemSearch.mostCopies) items like \(name)")
        }
        var findings = try describe(
            unlocked, as: name, secret: secret && unlocked.count <= ItemSearch.mostSecrets, foundBy: searches)
        findings.locked = locked
        findings.hasCopies = unlocked.count > 1
        return findings
    }

    /// The maximum number of items with the same service and username. More items are treated as an error of the
    /// service.
    private static let mostCopies = 1000
    /// The maximum number of items whose secrets are fetched together with a search. Most names have at most two items.
    private static let mostSecrets = 4

    /// Whether a stored item is TokenKeep's, has this name, and was not sealed by another vault.
    func isOurs(_ item: StoredItem, _ name: ItemName) throws(TokenKeepError) -> Bool {
        guard item.isOurs(name) else { return false }
        return try !sealing.isAnothers(item)
    }

    /// The paths of the unlocked and of the locked items that match at least one of these searches, without duplicates.
    func matches(
        anyOf searches: [[String: String]], for subject: String
    ) throws(TokenKeepError) -> (unlocked: [ObjectPath], locked: [ObjectPath]) {
        var (unlocked, locked): (Set<ObjectPath>, Set<ObjectPath>) = ([], [])
        for reply in try replies(to: searches) {
            guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "find", subject) }
            unlocked.formUnion(try ItemSearch.paths(body[0]))
            locked.formUnion(try ItemSearch.paths(body[1]))
        }
        return (unlocked.sorted(), locked.subtracting(unlocked).sorted())
    }

    private func replies(to searches: [[String: String]]) throws(TokenKeepError) -> [Reply] {
        if let replies = whole.early?.take(searches) { return replies }
        return try exchange(searches.map(searchItems))
    }

    static func searchItems(_ attributes: [String: String], of owner: String) -> MethodCall {
        MethodCall(
            destination: owner, path: .service, interface: "org.freedesktop.Secret.Service", member: "SearchItems",
            body: .tuple([.strings(attributes)]), answerType: "(aoao)")
    }

    /// Parses the object paths in a search's reply.
    ///
    /// - Throws: ``Status/corrupt`` for the path "/", which no item has.
    private static func paths(_ value: Variant) throws(TokenKeepError) -> [ObjectPath] {
        let paths = value.children.compactMap { $0.text.flatMap(ObjectPath.init) }
        guard !paths.contains(where: \.isNone) else {
            throw TokenKeepError(.corrupt, "the Secret Service found an item at a path that no item has")
        }
        return paths
    }

    /// Reads the items at these paths. Leaves out items that are gone or have another name.
    ///
    /// - Parameter searches: calls sent together with the reads, to find copies at other paths.
    private func describe(
        _ paths: [ObjectPath], as name: ItemName, secret: Bool, foundBy finding: [[String: String]],
        beside searches: [MethodCall] = []
    ) throws(TokenKeepError) -> Findings {
        var findings = Findings()
        var calls = paths.map(getAll)
        calls += searches
        if secret, !paths.isEmpty { calls.append(getSecrets(paths)) }
        guard !calls.isEmpty else { return findings }
        let replies = try exchange(calls)
        for (path, reply) in zip(paths, replies) {
            let found = try storedItem(reply, at: path, of: finding, subject: name.description)
            guard let item = found else { continue }
            if try isOurs(item, name) {
                findings.ours.append(item)
            } else if item.isForeign(name) {
                findings.foreign.append(item)
            }
        }
        if !searches.isEmpty, let path = paths.first {
            findings.hasCopies = hasCopies(replies.dropFirst(paths.count).prefix(searches.count), of: path)
        }
        // If a call for several secrets failed, its reply is not used, and the wanted secret is later fetched alone:
        // one unreadable item must not make the others unreadable.
        if secret, let reply = replies.last, paths.count == 1 || reply.isAnswer { findings.secrets = reply }
        findings.ours.sort(by: ItemSearch.isNewer)
        findings.foreign.sort(by: ItemSearch.isNewer)
        return findings
    }

    /// Whether the searches found items other than the item at this path.
    ///
    /// True if a search failed, because copies may then exist.
    func hasCopies(_ replies: some Sequence<Reply>, of path: ObjectPath) -> Bool {
        var found: Set<ObjectPath> = []
        for reply in replies {
            guard case .answer(let body) = reply, let paths = try? ItemSearch.paths(body[0]) else { return true }
            found.formUnion(paths)
        }
        return found != [path]
    }

    /// Whether a reply says that the item no longer exists. After an ambiguous reply, a search decides.
    func isGone(
        _ reply: Reply, _ path: ObjectPath, of searches: [[String: String]], subject: String
    ) throws(TokenKeepError) -> Bool {
        guard reply.mayMeanMissing else { return reply.isMissingObject }
        let (unlocked, locked) = try matches(anyOf: searches, for: subject)
        return !unlocked.contains(path) && !locked.contains(path)
    }

    /// Reads the reply to a call for an item's properties; nil if the item does not exist.
    ///
    /// - Parameter searches: the searches that found the item.
    func storedItem(
        _ reply: Reply, at path: ObjectPath, of searches: [[String: String]], subject: String
    ) throws(TokenKeepError) -> StoredItem? {
        if try isGone(reply, path, of: searches, subject: subject) { return nil }
        guard case .answer(let body) = reply, let item = StoredItem(path: path, properties: body) else {
            throw ServiceFailure.error(reply, "read", subject)
        }
        return item
    }

    /// Whether `left` is newer than `right`. If the dates are equal, the path with the higher number is newer.
    private static func isNewer(_ left: StoredItem, _ right: StoredItem) -> Bool {
        if left.modified != right.modified { return left.modified > right.modified }
        if left.created != right.created { return left.created > right.created }
        if let (mine, other) = numbers(left.path, right.path), mine != other { return mine > other }
        return left.path > right.path
    }

    /// The numbers at the ends of two paths that differ in nothing else; nil for other paths.
    private static func numbers(_ left: ObjectPath, _ right: ObjectPath) -> (UInt64, UInt64)? {
        guard let left = split(left), let right = split(right), left.parent == right.parent else { return nil }
        return (left.number, right.number)
    }

    private static func split(_ path: ObjectPath) -> (parent: Substring, number: UInt64)? {
        guard let slash = path.text.lastIndex(of: "/"),
            let number = UInt64(path.text[path.text.index(after: slash)...])
        else { return nil }
        return (path.text[..<slash], number)
    }
}
