import TokenKeepCore

/// A keyring in memory that tests lock. All stores of a test reach the same one.
final class LockableShelf: Sendable {
    private struct State {
        var items: [ItemName: TokenItem] = [:]
        var isLocked = false
        var isDamaged = false
        var refusedService: String?
        var whenAsked: (@Sendable () -> Void)?
        var whileListing: (@Sendable () -> Void)?
        var whileSaving: (service: String, body: @Sendable () -> Void)?
    }

    private let state = MutexGuarded(State())

    var items: [ItemName: TokenItem] { state.withLock { $0.items } }

    func lock() { state.withLock { $0.isLocked = true } }
    func unlock() { state.withLock { $0.isLocked = false } }
    /// Refuses to save items of a service; nil to refuse none.
    func refuse(service: String?) { state.withLock { $0.refusedService = service } }
    func damage() { state.withLock { $0.isDamaged = true } }
    /// Runs `body` while the user is asked to unlock the keyring, and unlocks it.
    func whenAsked(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenAsked = body } }

    /// Runs `body` once, while an item of the service is being saved and cannot be listed yet.
    func whileSaving(service: String, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.whileSaving = (service, body) }
    }

    /// Runs `body` each time after the items have been listed, before the listing is answered.
    func whileListing(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileListing = body } }

    fileprivate func endListing() { state.withLock { $0.whileListing }?() }

    fileprivate func beginSaving(_ name: ItemName) {
        let body = state.withLock { state -> (@Sendable () -> Void)? in
            guard let waiting = state.whileSaving, waiting.service == name.service else { return nil }
            state.whileSaving = nil
            return waiting.body
        }
        body?()
    }

    fileprivate func ask() {
        let asked = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.isLocked else { return nil }
            defer { state.whenAsked = nil }
            return state.whenAsked
        }
        guard let body = asked else { return }
        body()
        unlock()
    }

    fileprivate func checkPermission(_ name: ItemName) throws(TokenKeepError) {
        guard state.withLock({ $0.refusedService }) != name.service else {
            throw TokenKeepError(.denied, "the shelf does not keep \(name)", module: "secret-service")
        }
    }

    fileprivate func withItems<Answer>(
        _ body: (inout [ItemName: TokenItem]) throws(TokenKeepError) -> Answer
    ) throws(TokenKeepError) -> Answer {
        try state.withLock { state throws(TokenKeepError) in
            guard !state.isLocked else {
                throw TokenKeepError(.locked, "the shelf is locked", module: "secret-service")
            }
            guard !state.isDamaged else {
                throw TokenKeepError(.corrupt, "the shelf is damaged", module: "secret-service")
            }
            return try body(&state.items)
        }
    }
}

/// A store's way to the shelf, in the place of the module `secret-service`.
struct ShelfModule: BasicModule {
    let name = "secret-service"
    let supportsPendingWrites = true
    let shelf: LockableShelf
    let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey

    func prepare(_ call: CallContext) throws(TokenKeepError) {
        if call.promptsAllowed { shelf.ask() }
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        if call.promptsAllowed { shelf.ask() }
        guard let item = try shelf.withItems({ $0[name] }) else {
            throw TokenKeepError(.notFound, "no item \(name)", module: self.name)
        }
        return item
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        if call.promptsAllowed { shelf.ask() }
        let key = try versionKey()
        try shelf.checkPermission(request.name)
        shelf.beginSaving(request.name)
        return try shelf.withItems { items throws(TokenKeepError) in
            let present = items[request.name]?.details
            try request.check(present: present)
            var details = request.details(replacing: present, module: name)
            details.version = key.version(of: details, secret: request.secret)
            items[request.name] = TokenItem(details: details, secret: request.secret)
            return details.version
        }
    }

    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        try shelf.withItems { $0.removeValue(forKey: name) != nil }
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        let items = try shelf.withItems { Array($0.values) }
        shelf.endListing()
        return ItemListing(items: items.map(\.details).filter { $0.name.isIn(namespace: namespace, service: service) })
    }

    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "a test") }
}
