import Glibc
package import TokenKeepCore

/// Which items' locks threads of this process hold, by a vault object.
struct HeldItems: Sendable {
    private var held: [(name: ItemName, thread: pthread_t)] = []

    mutating func add(_ name: ItemName) { held.append((name, pthread_self())) }

    mutating func remove(_ name: ItemName) {
        guard let index = index(of: name) else { return }
        held.remove(at: index)
    }

    /// Whether this thread holds an item's lock.
    func contains(_ name: ItemName) -> Bool { index(of: name) != nil }

    private func index(of name: ItemName) -> Int? {
        held.firstIndex { $0.name == name && pthread_equal($0.thread, pthread_self()) != 0 }
    }
}

/// An item's lock, held by the thread that took it until it ends it.
package struct ItemHold {
    fileprivate let vault: Vault
    fileprivate let name: ItemName
    fileprivate let lock: VaultLock

    /// Lets the next one in.
    package func end() {
        vault.held.withLock { $0.remove(name) }
        lock.release()
    }
}

extension Vault {
    /// Takes an item's lock, unless this thread holds it already: then nil.
    ///
    /// - Throws: ``Status/busy`` where another process has it past the deadline.
    package func hold(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> ItemHold? {
        guard !holds(name) else { return nil }
        let opened = try openOrMake(call)
        let lock = try VaultLock(.item(name: opened.keys.fileName(of: name)), of: opened.directory, call)
        held.withLock { $0.add(name) }
        return ItemHold(vault: self, name: name, lock: lock)
    }

    /// Whether this thread holds an item's lock.
    package func holds(_ name: ItemName) -> Bool { held.withLock { $0.contains(name) } }

    /// Notes that this thread holds an item's lock while `body` runs.
    func noting<Result>(
        _ name: ItemName, _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        held.withLock { $0.add(name) }
        defer { held.withLock { $0.remove(name) } }
        return try body()
    }
}
