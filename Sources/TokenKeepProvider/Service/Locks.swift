import TokenKeepCore

extension Provider {
    /// Whether the items of every collection but `session` are locked.
    var isLocked: Bool { Provider.isLocked(vault, isHeldLocked) }

    /// Whether the vault has been locked since the program's start, so that its items and collections are unknown.
    var isUnread: Bool { isLocked && !freshness.isIndexed }

    static func isLocked(_ vault: VaultState, _ isHeldLocked: Bool) -> Bool {
        isHeldLocked || !vault.isOpen || !vault.openLevels.contains(.afterFirstUnlock)
    }

    func isLocked(_ item: IndexedItem) -> Bool { isLocked(item, vault, isHeldLocked) }

    private func isLocked(_ item: IndexedItem, _ vault: VaultState, _ isHeldLocked: Bool) -> Bool {
        guard item.name != nil else { return false }
        return Provider.isLocked(vault, isHeldLocked) || !vault.openLevels.contains(item.level)
    }

    func isLocked(collection: String) -> Bool { collection != IndexedCollection.session && isLocked }

    /// Whether the collection or item at a path is locked; nil if there is none.
    func isLocked(_ path: ObjectPath) -> Bool? {
        switch path {
        case .collection(let id): index.collections[id].map { isLocked(collection: $0.id) }
        case .item(let collection, let id): index[collection, id].map(isLocked)
        default: nil
        }
    }

    /// Stores the vault's present locks, signals changes, and completes prompts if the vault was unlocked.
    func become(_ state: VaultState, isHeldLocked held: Bool? = nil) {
        let before = (vault, isHeldLocked)
        let now = (state, (held ?? isHeldLocked) && !state.hasPassword)
        guard before != now else { return }
        let changed = index.items.filter { isLocked($0, before.0, before.1) != isLocked($0, now.0, now.1) }
        vault = now.0
        isHeldLocked = now.1
        let collections = Provider.isLocked(before.0, before.1) != isLocked
        if freshness.hasLooked { signalLocks(collections: collections, items: changed) }
        if collections, !isLocked { completeOpenPrompts() }
    }
}
