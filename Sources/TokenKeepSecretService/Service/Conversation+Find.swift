import TokenKeepCore

/// What stands on the service under one name.
struct Findings {
    /// Ours, newest first.
    var ours: [StoredItem] = []
    /// Other programs', newest first.
    var foreign: [StoredItem] = []
    /// What might be one of them and cannot be looked at.
    var locked: [ObjectPath] = []
    /// Whether there are other items with its attributes.
    var hasCopies = false
    /// The answer to ``Conversation/getSecrets(_:)``, where that was asked together with what the items are.
    var secrets: Reply?

    /// The item that a load answers: ours, unless another program wrote its own later.
    var best: StoredItem? {
        guard let ours = ours.first, let theirs = foreign.first else { return ours.first ?? foreign.first }
        // Nobody else's item hides a sealed one, which it cannot know.
        guard ours.sealedBy == nil else { return ours }
        return theirs.modified > ours.modified ? theirs : ours
    }
}

extension Conversation {
    /// Looks for an item where it was last, and else by its attributes.
    ///
    /// - Parameters:
    ///   - secret: whether its secret is wanted, too.
    ///   - copies: whether copies of it elsewhere count, too.
    /// - Throws: ``Status/locked`` where it may be behind a lock that was not opened; ``Status/unavailable`` as an
    ///   absence where there is nothing and no default collection.
    func find(_ name: ItemName, secret: Bool, copies: Bool = false) throws(TokenKeepError) -> Findings {
        if let path = link.paths[name]?.path {
            // Beside ours another program may write a newer one.
            let isBeside = copies || name.namespace.isEmpty
            let finding = searches(for: name)
            let findings = try describe(
                [path], as: name, secret: secret, foundBy: finding, beside: isBeside ? finding.map(searchItems) : [])
            if findings.ours.first?.isLocked == false, !findings.hasCopies { return findings }
            link.paths[name] = nil
        }
        var findings = try search(name, secret: secret)
        if findings.ours.isEmpty, try unlock(findings, for: name) {
            findings = try search(name, secret: secret)
            guard findings.best != nil || findings.locked.isEmpty else {
                throw ServiceFailure.locked(name.description)
            }
        }
        if let path = findings.ours.first?.path, !findings.hasCopies { link.paths[name] = PathCache.Entry(path: path) }
        return findings
    }

    /// Looks for an item by its attributes alone, so that every copy is found.
    ///
    /// A sealed one that is not noted is looked for where there is none of ours that is not.
    func search(_ name: ItemName, secret: Bool) throws(TokenKeepError) -> Findings {
        let searches = searches(for: name)
        let findings = try search(name, by: searches, secret: secret)
        guard findings.ours.isEmpty, name.namespace.isEmpty, searches.count == 1, sealing.mayBeThere else {
            return findings
        }
        let both = ItemCoding.searches(for: name, maybeSealed: true)
        let (unlocked, locked) = try search(anyOf: Array(both.suffix(1)), for: name.description)
        guard !unlocked.isEmpty || !locked.isEmpty else { return findings }
        return try search(name, by: both, secret: secret)
    }

    /// The same, also for a sealed one beside one that is not.
    func searchEverywhere(_ name: ItemName, secret: Bool) throws(TokenKeepError) -> Findings {
        let maybeSealed = name.namespace.isEmpty && (sealing.isNoted(name) || sealing.mayBeThere)
        return try search(name, by: ItemCoding.searches(for: name, maybeSealed: maybeSealed), secret: secret)
    }

    private func search(
        _ name: ItemName, by searches: [[String: String]], secret: Bool
    ) throws(TokenKeepError) -> Findings {
        let (unlocked, locked) = try search(anyOf: searches, for: name.description)
        guard unlocked.count <= Conversation.mostCopies else {
            throw TokenKeepError(
                .corrupt, "the Secret Service has more than \(Conversation.mostCopies) items like \(name)")
        }
        var findings = try describe(
            unlocked, as: name, secret: secret && unlocked.count <= Conversation.mostSecrets, foundBy: searches)
        findings.locked = locked
        findings.hasCopies = unlocked.count > 1
        return findings
    }

    /// More items than this under one service and username are a fault of the service.
    private static let mostCopies = 1000
    /// The secrets of so many items travel together, though one alone is wanted: most have one, or one and a twin.
    private static let mostSecrets = 4

    /// What together finds an item.
    func searches(for name: ItemName) -> [[String: String]] {
        ItemCoding.searches(for: name, maybeSealed: name.namespace.isEmpty && sealing.isNoted(name))
    }

    /// Whether a stored item is this one: ours, and sealed by nobody else.
    func isOurs(_ item: StoredItem, _ name: ItemName) throws(TokenKeepError) -> Bool {
        guard item.isOurs(name) else { return false }
        return try !sealing.isAnothers(item)
    }

    /// The paths of items with any of these sets of attributes, each once: those that can be read, and those that are locked.
    func search(
        anyOf searches: [[String: String]], for subject: String
    ) throws(TokenKeepError) -> (unlocked: [ObjectPath], locked: [ObjectPath]) {
        var (unlocked, locked): (Set<ObjectPath>, Set<ObjectPath>) = ([], [])
        for reply in try exchange(searches.map(searchItems)) {
            guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "find", subject) }
            unlocked.formUnion(Conversation.paths(body[0]))
            locked.formUnion(Conversation.paths(body[1]))
        }
        return (unlocked.sorted(), locked.subtracting(unlocked).sorted())
    }

    func searchItems(_ attributes: [String: String]) -> MethodCall {
        service("SearchItems", [.strings(attributes)], answerType: "(aoao)")
    }

    static func paths(_ value: Variant) -> [ObjectPath] {
        value.children.compactMap { $0.text.flatMap(ObjectPath.init) }
    }

    /// What the items at these paths are; what is gone meanwhile, or is something else, is left out.
    ///
    /// - Parameter searches: travel along, and tell whether there are copies elsewhere.
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
        // One item's failure is not another's: the one that is wanted is asked for alone then.
        if secret, let reply = replies.last, paths.count == 1 || reply.isAnswer { findings.secrets = reply }
        findings.ours.sort(by: Conversation.isNewer)
        findings.foreign.sort(by: Conversation.isNewer)
        return findings
    }

    /// Whether searches found other items than the one at a path.
    func hasCopies(_ replies: some Sequence<Reply>, of path: ObjectPath) -> Bool {
        var found: Set<ObjectPath> = []
        for reply in replies {
            guard case .answer(let body) = reply else { return false }
            found.formUnion(Conversation.paths(body[0]))
        }
        return found != [path]
    }

    /// Whether a reply says that an item is gone. Where it may say something else, a search decides.
    func isGone(
        _ reply: Reply, _ path: ObjectPath, of searches: [[String: String]], subject: String
    ) throws(TokenKeepError) -> Bool {
        guard reply.mayMeanMissing else { return reply.isMissingObject }
        let (unlocked, locked) = try search(anyOf: searches, for: subject)
        return !unlocked.contains(path) && !locked.contains(path)
    }

    /// Reads the answer to a question for an item's properties; nil where there is no such item.
    ///
    /// - Parameter searches: what found the item.
    func storedItem(
        _ reply: Reply, at path: ObjectPath, of searches: [[String: String]], subject: String
    ) throws(TokenKeepError) -> StoredItem? {
        if try isGone(reply, path, of: searches, subject: subject) { return nil }
        guard case .answer(let body) = reply, let item = StoredItem(path: path, properties: body) else {
            throw ServiceFailure.error(reply, "read", subject)
        }
        return item
    }

    func getAll(_ path: ObjectPath) -> MethodCall {
        properties(path, "GetAll", [.string(Conversation.itemInterface)], answerType: "(a{sv})")
    }

    /// Asks for secrets the way that takes the service less time than ``getSecret(_:)``; it does not say why there is
    /// none.
    func getSecrets(_ paths: [ObjectPath]) -> MethodCall {
        service("GetSecrets", [.paths(paths), .path(link.session)], answerType: "(a{o(oayays)})")
    }

    func getSecret(_ path: ObjectPath) -> MethodCall {
        item(path, "GetSecret", [.path(link.session)], answerType: "((oayays))")
    }

    /// Later is first. Times are whole seconds: of two in the same one, the path with the higher number is later.
    private static func isNewer(_ left: StoredItem, _ right: StoredItem) -> Bool {
        if left.modified != right.modified { return left.modified > right.modified }
        if left.created != right.created { return left.created > right.created }
        if let (mine, other) = numbers(left.path, right.path), mine != other { return mine > other }
        return left.path > right.path
    }

    /// The numbers at the ends of two paths that are the same before them.
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
