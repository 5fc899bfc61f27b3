import TokenKeepCore

/// The methods `Lock` and `Unlock` of the service, and the prompts that `Unlock` returns.
extension Provider {
    func lock(_ message: BusMessage) throws(Refusal) {
        try message.expect("ao")
        let paths = try message.paths()
        whenFresh(message, .everything) { [self] () throws(Refusal) in
            let known = Provider.once(paths).filter { path in
                guard let object = ObjectPath(path), isLocked(object) != nil || namesUnread(path) else { return false }
                switch object {
                case .collection(IndexedCollection.session), .item(IndexedCollection.session, _): return false
                default: return true
                }
            }
            let answer: () -> Void = { [self] in
                bus.reply(to: message) { reply in
                    reply.paths(known)
                    reply.path(ObjectPath.none)
                }
            }
            guard !known.isEmpty, !isLocked else { return answer() }
            lockVault(message, then: answer)
        }
    }

    /// Locks the vault for every program. A vault without a password is locked only for the clients of the bus.
    func lockVault(_ message: BusMessage, then completion: @escaping () -> Void) {
        guard vault.hasPassword else {
            become(vault, isHeldLocked: true)
            return completion()
        }
        ask(on: "locks", for: message, { [store] () throws(TokenKeepError) in _ = try store.lock() }) { [self] _ in
            whenFresh(message, nil) { () throws(Refusal) in completion() }
        }
    }

    /// Removes repeated paths and keeps the order.
    static func once(_ paths: [String]) -> [String] {
        var seen: Set<String> = []
        return paths.filter { seen.insert($0).inserted }
    }

    func unlock(_ message: BusMessage) throws(Refusal) {
        try message.expect("ao")
        let paths = Provider.once(try message.paths())
        whenFresh(message, .reading(paths.compactMap(ObjectPath.init))) { [self] () throws(Refusal) in
            let known = paths.filter { ObjectPath($0).flatMap(isLocked) != nil || namesUnread($0) }
            if isHeldLocked, known.contains(where: { !isOpen($0) }) { become(vault, isHeldLocked: false) }
            let open = known.filter { isOpen($0) }
            guard open.count < known.count, isLocked else { return replyUnlocked(open, nil, message) }
            guard prompts.values.reduce(0, { $0 + ($1.owner == message.sender ? 1 : 0) }) < Clients.promptLimit else {
                throw .limit("you have \(Clients.promptLimit) prompts")
            }
            let path = Provider.freshPath("prompt")
            prompts[path] = UnlockPrompt(owner: message.sender, paths: known.filter { !open.contains($0) })
            replyUnlocked(open, path, message)
        }
    }

    func isOpen(_ path: String) -> Bool { ObjectPath(path).flatMap(isLocked) == false }

    /// Whether a path may be that of an item or collection that has not been read yet.
    private func namesUnread(_ path: String) -> Bool {
        guard isUnread else { return false }
        return ObjectPath(path).map(mayBeUnread) ?? false
    }

    /// Whether an object belongs to the vault, and so may exist although it has not been read yet. False for the
    /// collection `session` and its items, which are only in memory.
    func mayBeUnread(_ path: ObjectPath) -> Bool {
        switch path {
        case .item(let collection, _), .collection(let collection): collection != IndexedCollection.session
        default: false
        }
    }

    private func replyUnlocked(_ open: [String], _ prompt: String?, _ message: BusMessage) {
        bus.reply(to: message) { reply in
            reply.paths(open)
            reply.path(prompt ?? ObjectPath.none)
        }
    }
}
