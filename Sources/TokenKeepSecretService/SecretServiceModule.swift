public import TokenKeepCore

/// The module `secret-service`: items in the desktop's Secret Service.
///
/// The service may be gnome-keyring, KWallet, KeePassXC, oo7 or another program.
///
/// The service owns `org.freedesktop.secrets` on the user's session bus. Nothing is loaded or connected before the
/// first call. Every call uses the caller's own thread and returns by its deadline. A service that did not answer gets
/// no calls until the ``CircuitBreaker`` closes. If there is no service, the error is an absence
/// (``TokenKeepError/isAbsence``). In a child made by `fork()` of a process that used the module, every call fails with
/// ``Status/unavailable``.
///
/// The service has no transactions: a precondition is checked right before the save. A caller that must exclude other
/// processes holds a lock around the call.
public final class SecretServiceModule: Module {
    /// `secret-service`
    public let name = "secret-service"

    private struct Links {
        var connection: BusConnection?
        var link: ServiceLink?
    }

    private let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey
    private let timeout: UInt32
    private let address: String?
    private let breaker = CircuitBreaker()
    private let gate = WriteGate()
    private let observers = ChangeObservers()
    private let links = MutexGuarded(Links())

    /// Makes an unused module.
    ///
    /// - Parameters:
    ///   - timeoutMilliseconds: the longest time of a call, within its own deadline. Only prompts may take longer.
    ///   - versionKey: returns the key of item versions; called whenever a call needs the key.
    public convenience init(
        timeoutMilliseconds: UInt32 = 5000,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.init(
            timeoutMilliseconds: timeoutMilliseconds, address: nil, versionKey: versionKey)
    }

    /// Makes an unused module.
    ///
    /// - Parameter address: the bus to use instead of the session bus.
    package init(
        timeoutMilliseconds: UInt32, address: String?,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.timeout = timeoutMilliseconds
        self.address = address
        self.versionKey = versionKey
    }

    /// True: changes that the service missed are drained later.
    public let supportsPendingWrites = true

    /// True.
    public let reportsModificationTime = true

    /// False if there is no session bus, or while the service is known not to answer.
    public var mayAnswer: Bool {
        // In a child of fork, a thread of the parent may hold the breaker's lock.
        ForkGuard.allows && (try? breaker.check()) != nil && (address != nil || (try? BusAddress.find()) != nil)
    }

    /// Calls the observer on the service's signals, from the next call on. Services do not signal every change.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) { observers.add(observer) }

    /// Opens the default collection, which may prompt the user.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in
            guard try serviceCall.isDefaultCollectionLocked(for: "the default keyring") else { return }
            try serviceCall.unlock([.defaultCollection], subject: "the default keyring")
        }
    }

    /// Loads the item with its secret. In the common namespace a foreign item counts too.
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try withServiceCall(call, of: name) { serviceCall throws(TokenKeepError) in
            try serviceCall.load(name, try versionKey())
        }
    }

    /// Saves an item. If TokenKeep has no item of the name, a foreign item is overwritten.
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let version = try change(request.name, call, isConditional: request.precondition != .none) {
            serviceCall, key, mark throws(TokenKeepError) in
            try serviceCall.save(request, in: .any, key, mark)
        }
        guard let version else { throw TokenKeepError(.internal, "a save of any number of steps took none") }
        return version
    }

    /// Saves an item if one message is enough: a new item, or a new secret with the same label and attributes.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try change(request.name, call.withoutPrompts, isConditional: request.precondition != .none) {
            serviceCall, key, mark throws(TokenKeepError) in
            try serviceCall.save(request, in: .one(mayAskLater: call.promptsAllowed), key, mark)
        }
    }

    /// Removes an item, and foreign items of the same name.
    public func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try change(name, call, isConditional: version != nil) { serviceCall, key, mark throws(TokenKeepError) in
            try serviceCall.clear(name, ifVersion: version, key, mark)
        }
    }

    /// Removes TokenKeep's item. Foreign items of the same name stay.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try change(name, call, isConditional: false) { serviceCall, key, mark throws(TokenKeepError) in
            try serviceCall.clear(name, ifVersion: nil, sparesOthers: true, key, mark)
        }
    }

    /// The foreign items under the name, which only the common namespace has.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in
            try serviceCall.foreignItems(name, try versionKey())
        }
    }

    /// TokenKeep's items of a namespace, without foreign items.
    public func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        var listing = try withServiceCall(call) { serviceCall throws(TokenKeepError) in
            try serviceCall.list(namespace: namespace, service: service)
        }
        listing.problem = listing.problem?.inModule(name)
        return listing
    }

    /// The namespaces of TokenKeep's items.
    public func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in try serviceCall.namespaces() }
    }

    /// True.
    public let supportsSealing = true

    /// The protection of any service.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { ItemSealing.ofService }

    /// See ``Module``.
    public func sealedItems(_ call: CallContext) -> [ItemName] {
        guard let vaultID = (try? call.sealer?.vaultID()) ?? nil else { return [] }
        let names = try? withServiceCall(call) { serviceCall throws(TokenKeepError) in
            try serviceCall.names(sealedBy: vaultID)
        }
        return names ?? []
    }

    /// Whether the service can be reached and its default collection is open.
    public func report(_ call: CallContext) -> ModuleReport {
        let place = "the Secret Service on the session bus"
        do throws(TokenKeepError) {
            let isLocked = try withServiceCall(call) { serviceCall throws(TokenKeepError) in
                try serviceCall.isDefaultCollectionLocked(for: "the default keyring")
            }
            return ModuleReport(
                module: name, place: place,
                notes: [isLocked ? "the default keyring is locked" : "the default keyring is open"])
        } catch {
            return ModuleReport(module: name, problem: error, place: place)
        }
    }

    /// Changes an item while no other thread does. Prompts are shown outside the lock, so that no thread waits for a
    /// person.
    private func change<Result>(
        _ name: ItemName, _ call: CallContext, isConditional: Bool,
        _ body: (ServiceCall, ItemVersionKey, WriteMark) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let mark = WriteMark()
        let isFinal = { isConditional && mark.hasWritten }
        let silent = call.withoutPrompts
        do throws(TokenKeepError) {
            return try withServiceCall(silent, of: name, unless: isFinal) { serviceCall throws(TokenKeepError) in
                let key = try versionKey()
                return try gate.withLock(name, until: serviceCall.deadline) { () throws(TokenKeepError) in
                    try body(serviceCall, key, mark)
                }
            }
        } catch {
            let mayHelp = error.status == .locked || error.status == .unavailable && error.isAbsence
            guard call.promptsAllowed, mayHelp, !isFinal() else { throw error.noting(mark) }
        }
        do throws(TokenKeepError) {
            return try withServiceCall(call, unless: isFinal) { serviceCall throws(TokenKeepError) in
                try body(serviceCall, try versionKey(), mark)
            }
        } catch {
            throw error.noting(mark)
        }
    }

    /// Runs `body` over the present link.
    ///
    /// Runs it once more over a new link if the service went away meanwhile, or if the session's key was doubted.
    ///
    /// - Parameter item: the item that `body` searches for first; nil if it searches for none.
    private func withServiceCall<Result>(
        _ call: CallContext, of item: ItemName? = nil, unless isFinal: () -> Bool = { false },
        _ body: (ServiceCall) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let budget = Budget(milliseconds: timeout, until: call.deadline)
        let patience = budget.deadline.remainingMilliseconds
        do throws(TokenKeepError) {
            try ForkGuard.check()
            let early = item.map { EarlySearch(for: $0, ItemSealing(sealer: call.sealer)) }
            let first = try firstLink(searching: early, until: budget.deadline)
            let doubt = SessionDoubt(isRepetition: false)
            do throws(TokenKeepError) {
                return try body(serviceCall(over: first, call, budget, doubt, early))
            } catch {
                let isLost = error.status == .unavailable && first.isLost && !isFinal()
                guard isLost || doubt.isRaised, !budget.deadline.hasPassed else { throw error }
            }
            if doubt.isRaised { drop(first) }
            let second = try link(until: budget.deadline)
            return try body(serviceCall(over: second, call, budget, SessionDoubt(isRepetition: doubt.isRaised)))
        } catch {
            if error.status == .timedOut { leaveMark(after: patience) }
            throw error.inModule(name)
        }
    }

    /// The present link, or a new one. Makes it once more if the service ended meanwhile, as the search may have made it.
    private func firstLink(
        searching search: EarlySearch?, until deadline: Deadline
    ) throws(TokenKeepError) -> ServiceLink {
        do throws(TokenKeepError) {
            return try link(searching: search, until: deadline)
        } catch {
            let hasEnded = links.withLock { $0.connection }?.watch.ownerHasChanged == true
            guard error.status == .unavailable, hasEnded, !deadline.hasPassed else { throw error }
            return try link(until: deadline)
        }
    }

    /// Tells the user's other processes that the service did not answer, unless the time went elsewhere.
    private func leaveMark(after milliseconds: UInt32) {
        guard (try? breaker.check()) == nil else { return }
        links.withLock { $0.connection }?.leaveMark(after: milliseconds)
    }

    private func serviceCall(
        over link: ServiceLink, _ call: CallContext, _ budget: Budget, _ doubt: SessionDoubt,
        _ early: EarlySearch? = nil
    ) -> ServiceCall {
        ServiceCall(link: link, call: call, budget: budget, module: name, doubt: doubt, early: early)
    }

    /// Drops a link whose session was doubted. Its connection stays.
    private func drop(_ doubted: ServiceLink) {
        doubted.refuse()
        replaceLinks { $0.link === doubted ? Links(connection: $0.connection) : $0 }
    }

    /// The present link, or a new one. Concurrent threads may make several links; the last one is kept.
    ///
    /// - Parameter search: sent while a new link is made. A present link leaves it unsent.
    private func link(
        searching search: EarlySearch? = nil, until deadline: Deadline
    ) throws(TokenKeepError) -> ServiceLink {
        let (connection, link) = present()
        try breaker.check()
        if let link {
            try link.connection.checkMark(of: link.owner, until: deadline)
            return link
        }
        let usable: BusConnection
        if let connection {
            usable = connection
        } else {
            let address = if let address { address } else { try BusAddress.find() }
            try ForkGuard.enter()
            try GLibrary.load()
            usable = try BusConnection.connect(
                to: address, breaker: breaker, observers: observers, until: deadline)
            replaceLinks { _ in Links(connection: usable) }
        }
        let made = try ServiceLink(over: usable, searching: search, until: deadline)
        replaceLinks { $0.connection === usable ? Links(connection: usable, link: made) : $0 }
        return made
    }

    private func replaceLinks(_ change: (Links) -> Links) {
        let before = links.withLock { links in
            let before = links
            links = change(links)
            return before
        }
        _ = consume before  // released here, outside the lock
    }

    /// The present connection and link, unless lost. Releasing a lost link also closes the breaker.
    private func present() -> (BusConnection?, ServiceLink?) {
        let (lost, connection, link) = links.withLock { links -> (Links?, BusConnection?, ServiceLink?) in
            guard let connection = links.connection else { return (nil, nil, nil) }
            guard connection.isLost || links.link?.isLost == true else { return (nil, connection, links.link) }
            let lost = links
            links = Links()
            return (lost, nil, nil)
        }
        if lost != nil { breaker.close() }
        return (connection, link)  // lost objects are released here, outside the lock
    }
}

extension TokenKeepError {
    /// A copy that notes whether a change was sent.
    fileprivate func noting(_ mark: WriteMark) -> TokenKeepError {
        var copy = self
        copy.changedNothing = !mark.hasWritten
        return copy
    }
}
