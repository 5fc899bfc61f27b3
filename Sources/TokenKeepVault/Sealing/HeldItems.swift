import Glibc
package import TokenKeepCore

/// Which items' locks threads of this process hold, by a vault object.
struct HeldItems: Sendable {
    private var held: [(name: [UInt8], thread: pthread_t)] = []

    mutating func add(_ name: [UInt8]) { held.append((name, pthread_self())) }

    mutating func remove(_ name: [UInt8]) {
        guard let index = index(of: name) else { return }
        held.remove(at: index)
    }

    /// Whether this thread holds an item's lock.
    func contains(_ name: [UInt8]) -> Bool { index(of: name) != nil }

    private func index(of name: [UInt8]) -> Int? {
        held.firstIndex { $0.name == name && pthread_equal($0.thread, pthread_self()) != 0 }
    }
}

/// An item's lock, held by the thread that took it until it ends it.
package struct ItemHold {
    fileprivate let vault: Vault
    fileprivate let fileName: [UInt8]
    fileprivate let lock: VaultLock

    /// Lets the next one in.
    package func end() {
        vault.held.withLock { $0.remove(fileName) }
        lock.release()
    }
}

extension Vault {
    /// Takes an item's lock, unless this thread holds it already: then nil.
    ///
    /// - Throws: ``Status/busy`` where another process has it past the deadline.
    package func hold(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> ItemHold? {
        let opened = try openOrMake(call)
        let fileName = opened.keys.fileName(of: name)
        guard !held.withLock({ $0.contains(fileName) }) else { return nil }
        let lock = try VaultLock(.item(name: fileName), of: opened.directory, call)
        held.withLock { $0.add(fileName) }
        return ItemHold(vault: self, fileName: fileName, lock: lock)
    }

    /// Notes that this thread holds an item's lock while `body` runs.
    func noting<Result>(
        _ fileName: [UInt8], _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        held.withLock { $0.add(fileName) }
        defer { held.withLock { $0.remove(fileName) } }
        return try body()
    }
}
