import Synchronization
import TokenKeepCore

/// Holds items in guarded memory until the store is closed or the process ends.
final class MemoryModule: BasicModule {
    let name = "memory"
    private let items = MutexGuarded<[ItemName: TokenItem]>([:])
    private let versionKey = MutexGuarded<ItemVersionKey?>(nil)
    /// Whether an item was ever saved here. Until then, loads need not lock ``items``.
    private let isUsed = Atomic<Bool>(false)

    init() {
    }

    func item(_ name: ItemName) -> TokenItem? { isUsed.load(ordering: .acquiring) ? items.withLock { $0[name] } : nil }

    /// The items of one service in a namespace, or of all services if `service` is nil.
    func listing(namespace: String, service: String?) -> ItemListing {
        let all = items.withLock { $0.values.map(\.details) }
        return ItemListing(
            items: all.filter { $0.name.isIn(namespace: namespace, service: service) })
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        guard let item = item(name) else {
            throw TokenKeepError(.notFound, "no item \(name)", module: self.name)
        }
        return item
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let versionKey = try self.versionKey.withLock { key throws(TokenKeepError) in
            if let key { return key }
            let made = try ItemVersionKey.random()
            key = made
            return made
        }
        return try items.withLock { items throws(TokenKeepError) in
            let present = items[request.name]?.details
            try request.check(present: present)
            var details = request.details(replacing: present, module: name)
            details.version = versionKey.version(of: details, secret: request.secret)
            items[request.name] = TokenItem(details: details, secret: request.secret)
            isUsed.store(true, ordering: .releasing)
            return details.version
        }
    }

    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try items.withLock { items throws(TokenKeepError) in
            try SaveRequest.check(version: version, of: name, present: items[name]?.details)
            return items.removeValue(forKey: name) != nil
        }
    }

    func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        listing(namespace: namespace, service: service)
    }

    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        let isLocked = (try? GuardedPool.shared.isLocked()) ?? false
        return Protection { axis in
            switch axis {
            case .otherUser: Protection.Axis(.enforced, "this process's memory")
            case .diskTheft where isLocked: Protection.Axis(.enforced, "memory that is never swapped out nor dumped")
            case .diskTheft:
                Protection.Axis(
                    .advisory, "memory that may be swapped out", remedy: "raise the limit that ulimit -l shows")
            case .otherMachine: Protection.Axis(.enforced, "it never leaves this process")
            case .screenLock: Protection.Axis(.none, "this process has it while the screen is locked")
            case .presence: Protection.Axis(.none, "nobody is asked")
            }
        }
    }

    func report(_ call: CallContext) -> ModuleReport {
        ModuleReport(module: name, place: "this process")
    }
}
