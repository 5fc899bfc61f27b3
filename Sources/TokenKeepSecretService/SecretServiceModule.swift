public import TokenKeepCore

/// The module `secret-service`, which keeps items in the desktop's Secret Service.
///
/// The service may be gnome-keyring, KWallet, KeePassXC, oo7 or another program.
///
/// The service owns the name `org.freedesktop.secrets` on the user's session bus. At its first call, the module loads
/// libsecret and connects to the bus. Every call runs on the caller's thread and returns by the call's deadline. A
/// service that did not answer gets no further calls until the ``CircuitBreaker`` closes. If there is no service, the
/// error is an absence (``TokenKeepError/isAbsence``). In a child that `fork()` made after the module was used, every
/// call throws ``Status/unavailable``.
///
/// The service has no transactions, so another process may change an item between the check of a save's precondition
/// and the save. A caller that must prevent this holds a lock around the call.
public final class SecretServiceModule: BasicModule {
    /// The module's name in a stack: `secret-service`.
    public let name = "secret-service"

    private struct Links {
        var connection: BusConnection?
        var link: ServiceLink?
        /// Whether the service on the connection is the provider that serves this store's vault.
        var isOwnVault = false
    }

    private let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey
    private let vaultID: @Sendable () -> String?
    private let timeout: UInt32
    private let address: String?
    private let breaker = CircuitBreaker()
    private let gate = WriteGate()
    private let observers = ChangeObservers()
    private let links = MutexGuarded(Links())

    /// Makes a module that connects to the service at its first call.
    ///
    /// - Parameters:
    ///   - timeoutMilliseconds: the maximum duration of a call, not counting prompts. An earlier deadline of the call
    ///     applies as well.
    ///   - versionKey: returns the key that computes item versions, whenever a call needs it.
    public convenience init(
        timeoutMilliseconds: UInt32 = 5000,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.init(
            timeoutMilliseconds: timeoutMilliseconds, address: nil, versionKey: versionKey)
    }

    /// Makes a module that connects to the service at its first call.
    ///
    /// - Parameters:
    ///   - address: the bus to use instead of the session bus.
    ///   - vaultID: returns the identifier of this store's vault, by which the module recognises the provider of that
    ///     vault; nil if there is no vault.
    package init(
        timeoutMilliseconds: UInt32, address: String?, vaultID: @escaping @Sendable () -> String? = { nil },
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.timeout = timeoutMilliseconds
        self.address = address
        self.vaultID = vaultID
        self.versionKey = versionKey
    }

    /// True: the vault keeps changes that the service missed, and applies them later.
    public let supportsPendingWrites = true

    /// True: the service reports when an item was last changed.
    public let reportsModificationTime = true

    /// False without a session bus, or while the service is known not to answer.
    public var mayAnswer: Bool {
        // In a child made by `fork()`, a thread of the parent may hold the breaker's lock, so check `ForkGuard` first.
        ForkGuard.allows && (try? breaker.check()) != nil && (address != nil || (try? BusAddress.find()) != nil)
    }

    /// Like ``mayAnswer``, but queries a service that did not answer an earlier call, for at most 250 ms.
    ///
    /// If the service does not answer this query either, calls fail at once until the ``CircuitBreaker`` closes.
    public func mayAnswer(asking call: CallContext) -> Bool {
        if mayAnswer { return true }
        guard ForkGuard.allows, address != nil || (try? BusAddress.find()) != nil else { return false }
        let end = call.deadline.within(milliseconds: BusConnection.longestProbe)
        do throws(TokenKeepError) {
            let (connection, link) = present()
            if let link {
                try link.connection.probe(link.owner, until: end)
            } else {
                _ = try makeLink(over: connection, until: end)
            }
        } catch {
            return false
        }
        breaker.close()
        return true
    }

    /// Whether the service is the provider that serves this store's vault. Waits at most 250 ms for the answer.
    public func isOwnVault(_ call: CallContext) -> Bool {
        guard mayAnswer else { return false }
        do throws(TokenKeepError) {
            _ = try link(until: call.deadline.within(milliseconds: BusConnection.longestProbe))
            return false
        } catch {
            return error.isOwnVault
        }
    }

    /// Registers an observer, which is called when the service signals a change. Services do not signal every change.
    ///
    /// No signals arrive before the module's next call.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) { observers.add(observer) }

    /// Unlocks the default collection (keyring), which may prompt the user.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in
            let locks = KeyringLocks(whole: serviceCall)
            guard try locks.isDefaultCollectionLocked(for: "the default keyring") else { return }
            try locks.unlock([.defaultCollection], subject: "the default keyring")
        }
    }

    /// Loads an item. In the empty namespace, this may be an item of another program (a foreign item).
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try withServiceCall(call, after: early(name, call)) { serviceCall throws(TokenKeepError) in
            try ItemReading(whole: serviceCall, key: versionKey()).load(name)
        }
    }

    /// Saves an item. If TokenKeep has no item of this name, overwrites the foreign item of this name, if there is one.
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let version = try change(request.name, call, isConditional: request.precondition != .none) {
            writing throws(TokenKeepError) in try writing.save(request, in: .any)
        }
        guard let version else { throw TokenKeepError(.internal, "a save of any number of steps took none") }
        return version
    }

    /// Saves an item if one message to the service is enough, that is, for a new item, or if only the secret changes.
    /// Otherwise returns nil.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try change(request.name, call.withoutPrompts, isConditional: request.precondition != .none) {
            writing throws(TokenKeepError) in
            try writing.save(request, in: .one(mayAskLater: call.promptsAllowed))
        }
    }

    /// Removes an item and the foreign items of the same name.
    public func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try change(name, call, isConditional: version != nil) { writing throws(TokenKeepError) in
            try writing.clear(name, ifVersion: version)
        }
    }

    /// Removes TokenKeep's item, and keeps foreign items of the same name.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try change(name, call, isConditional: false) { writing throws(TokenKeepError) in
            try writing.clear(name, ifVersion: nil, sparesOthers: true)
        }
    }

    /// The foreign items of this name. Only the empty namespace has foreign items.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in
            try ItemReading(whole: serviceCall, key: versionKey()).foreignItems(name)
        }
    }

    /// TokenKeep's items of a namespace, without foreign items.
    public func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        let sealing = ItemSealing(sealer: call.sealer)
        let early = EarlySearch(
            ItemLists.searches(namespace: namespace, service: service, sealing), asksCollection: true)
        var listing = try withServiceCall(call, after: early) { serviceCall throws(TokenKeepError) in
            try ItemLists(whole: serviceCall).list(namespace: namespace, service: service)
        }
        listing.problem = listing.problem?.inModule(name)
        return listing
    }

    /// The namespaces in which TokenKeep has items.
    public func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? {
        try withServiceCall(call) { serviceCall throws(TokenKeepError) in try ItemLists(whole: serviceCall).namespaces()
        }
    }

    /// True: the service stores a sealed secret like any other secret.
    public let supportsSealing = true

    /// The protection that every Secret Service gives.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { ItemSealing.ofService }

    /// The names of the items that this vault sealed for the service; empty if they cannot be listed.
    public func sealedItems(_ call: CallContext) -> [ItemName] {
        guard let vaultID = (try? call.sealer?.vaultID()) ?? nil else { return [] }
        let names = try? withServiceCall(call) { serviceCall throws(TokenKeepError) in
            try ItemLists(whole: serviceCall).names(sealedBy: vaultID)
        }
        return names ?? []
    }

    /// Reports whether the service can be reached, and whether its default collection is locked.
    public func report(_ call: CallContext) -> ModuleReport {
        let place = "the Secret Service on the session bus"
        do throws(TokenKeepError) {
            let isLocked = try withServiceCall(call) { serviceCall throws(TokenKeepError) in
                try KeyringLocks(whole: serviceCall).isDefaultCollectionLocked(for: "the default keyring")
            }
            return ModuleReport(
                module: name, place: place,
                remarks: [isLocked ? "the default keyring is locked" : "the default keyring is open"])
        } catch {
            guard !error.isOwnVault else {
                return ModuleReport(
                    module: name, place: place, remarks: ["it serves this vault: its items are the vault's"])
            }
            return ModuleReport(module: name, problem: error, place: place)
        }
    }

    /// Changes an item while no other thread of this process changes the same item.
    ///
    /// Prompts are shown without this exclusion, so that no thread waits for the user's answer.
    private func change<Result>(
        _ name: ItemName, _ call: CallContext, isConditional: Bool,
        _ body: (ItemWriting) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let mark = WriteMark()
        let isFinal = { isConditional && mark.hasWritten }
        let silent = call.withoutPrompts
        do throws(TokenKeepError) {
            return try withServiceCall(silent, after: early(name, call), unless: isFinal) {
                serviceCall throws(TokenKeepError) in
                let writing = ItemWriting(whole: serviceCall, key: try versionKey(), mark: mark)
                return try gate.withLock(name, until: writing.deadline) { () throws(TokenKeepError) in
                    try body(writing)
                }
            }
        } catch {
            let mayHelp = error.status == .locked || error.status == .unavailable && error.isAbsence
            guard call.promptsAllowed, mayHelp, !isFinal() else { throw error.noting(mark) }
        }
        do throws(TokenKeepError) {
            return try withServiceCall(call, unless: isFinal) { serviceCall throws(TokenKeepError) in
                try body(ItemWriting(whole: serviceCall, key: versionKey(), mark: mark))
            }
        } catch {
            throw error.noting(mark)
        }
    }

    /// Runs `body` with the current link to the service.
    ///
    /// Repeats `body` with a new link if the service ended meanwhile, or if `body` found signs that the two ends of the
    /// session have different keys.
    ///
    /// - Parameter early: the searches with which `body` begins, to be sent while a new link is made; nil if `body`
    ///   begins with something else.
    func withServiceCall<Result>(
        _ call: CallContext, after early: EarlySearch? = nil, unless isFinal: () -> Bool = { false },
        _ body: (ServiceCall) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let budget = Budget(milliseconds: timeout, until: call.deadline)
        let patience = budget.deadline.remainingMilliseconds
        do throws(TokenKeepError) {
            try ForkGuard.check()
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

    private func early(_ name: ItemName, _ call: CallContext) -> EarlySearch {
        EarlySearch(for: name, ItemSealing(sealer: call.sealer))
    }

    /// The current link, or a new link. Tries again if the service has just ended.
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

    /// If the breaker is open, writes the mark that tells the user's other processes that the service did not answer.
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

    /// Discards a link whose two ends may have different session keys. Keeps the link's connection.
    private func drop(_ doubted: ServiceLink) {
        doubted.refuse()
        replaceLinks { $0.link === doubted ? Links(connection: $0.connection) : $0 }
    }

    /// The current link, or a new link. If several threads make links at once, the last link is kept.
    ///
    /// - Parameter search: the searches to send while a new link is made. They are not sent if there is a link.
    private func link(
        searching search: EarlySearch? = nil, until deadline: Deadline
    ) throws(TokenKeepError) -> ServiceLink {
        let (connection, link) = present()
        try breaker.check()
        guard let link else { return try makeLink(over: connection, searching: search, until: deadline) }
        try link.connection.checkMark(of: link.owner, until: deadline)
        return link
    }

    /// Makes a link over the given connection, or over a new connection if there is none.
    private func makeLink(
        over connection: BusConnection?, searching search: EarlySearch? = nil, until deadline: Deadline
    ) throws(TokenKeepError) -> ServiceLink {
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
        if links.withLock({ $0.isOwnVault && $0.connection === usable }), !usable.watch.ownerHasChanged {
            throw ServiceOwner.ownVault
        }
        let made: ServiceLink
        do throws(TokenKeepError) {
            made = try ServiceLink(over: usable, searching: search, besides: vaultID(), until: deadline)
        } catch {
            if error.isOwnVault {
                replaceLinks { $0.connection === usable ? Links(connection: usable, isOwnVault: true) : $0 }
            }
            throw error
        }
        replaceLinks { $0.connection === usable ? Links(connection: usable, link: made) : $0 }
        return made
    }

    private func replaceLinks(_ change: (Links) -> Links) {
        let before = links.withLock { links in
            let before = links
            links = change(links)
            return before
        }
        _ = consume before  // the old objects are released here, outside the lock
    }

    /// The current connection and link, each nil if there is none. If either is lost, discards both and closes the
    /// breaker.
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
    /// A copy whose `changedNothing` says whether no change was sent to the service.
    fileprivate func noting(_ mark: WriteMark) -> TokenKeepError {
        var copy = self
        copy.changedNothing = !mark.hasWritten
        return copy
    }
}
