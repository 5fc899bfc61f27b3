public import TokenKeepCore

/// Items in the desktop's Secret Service: gnome-keyring, KWallet, KeePassXC, oo7, whatever owns
/// `org.freedesktop.secrets` on the user's session bus.
///
/// Nothing is loaded, connected or asked until the first call. Every call talks to the service from the caller's own
/// thread and comes back at its deadline; a service that did not answer is left alone until it is heard of again.
/// Where there is no service at all, the error says so (``TokenKeepError/isAbsence``). In a child made by `fork()`
/// of a process that used the module, every call is ``Status/unavailable``.
///
/// The service knows no transactions: a precondition is checked right before the save, and whoever must exclude other
/// processes holds a lock of his own around the call.
public final class SecretServiceModule: Module {
    /// `secret-service`
    public let name = "secret-service"

    private struct Links {
        var connection: BusConnection?
        var link: ServiceLink?
    }

    private let arena: SecretArena
    private let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey
    private let timeout: UInt32
    private let address: String?
    private let breaker = Breaker()
    private let gate = WriteGate()
    private let observers = ChangeObservers()
    private let links = Guarded(Links())

    /// A module that has done nothing yet.
    ///
    /// - Parameters:
    ///   - arena: where loaded secrets live.
    ///   - timeoutMilliseconds: how long a call may take, within its own deadline; prompts alone may take longer.
    ///   - versionKey: provides the key of item versions; asked at each call that needs one.
    public convenience init(
        arena: SecretArena, timeoutMilliseconds: UInt32 = 5000,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.init(
            arena: arena, timeoutMilliseconds: timeoutMilliseconds, address: nil, versionKey: versionKey)
    }

    /// - Parameter address: the bus to use instead of the session bus.
    package init(
        arena: SecretArena, timeoutMilliseconds: UInt32, address: String?,
        versionKey: @escaping @Sendable () throws(TokenKeepError) -> ItemVersionKey
    ) {
        self.arena = arena
        self.timeout = timeoutMilliseconds
        self.address = address
        self.versionKey = versionKey
    }

    /// Yes: what the service missed is given to it when it is back.
    public let supportsPendingWrites = true

    /// Yes.
    public let reportsModificationTime = true

    /// False where there is no session bus, and while the service is known not to answer.
    public var mayAnswer: Bool {
        // In a child of fork the breaker's lock may be held by a thread that is not there.
        ForkGuard.allows && (try? breaker.check()) != nil && (address != nil || (try? BusAddress.find()) != nil)
    }

    /// Told by the service's signals, from the next call on; services do not signal everything.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) { observers.add(observer) }

    /// Opens the default collection, which may ask the user.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {
        try converse(call) { conversation throws(TokenKeepError) in
            guard try conversation.isDefaultCollectionLocked(for: "the default keyring") else { return }
            try conversation.unlock([.defaultCollection], subject: "the default keyring")
        }
    }

    /// The item with its secret; in the common namespace also another program's.
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try converse(call) { conversation throws(TokenKeepError) in
            try conversation.load(name, try versionKey())
        }
    }

    /// Saves an item, over another program's of the same name where there is none of ours.
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let version = try change(request.name, call, isConditional: request.precondition != .none) {
            conversation, key, mark throws(TokenKeepError) in
            try conversation.save(request, in: .any, key, mark)
        }
        guard let version else { throw TokenKeepError(.internal, "a save of any number of steps took none") }
        return version
    }

    /// Saves an item where one message does it: a new one, or another secret with the same label and attributes.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try change(request.name, call.withoutPrompts, isConditional: request.precondition != .none) {
            conversation, key, mark throws(TokenKeepError) in
            try conversation.save(request, in: .one(mayAskLater: call.promptsAllowed), key, mark)
        }
    }

    /// Removes an item, and another program's of the same name.
    public func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try change(name, call, isConditional: version != nil) { conversation, key, mark throws(TokenKeepError) in
            try conversation.clear(name, ifVersion: version, key, mark)
        }
    }

    /// Removes our item, and leaves another program's of the same name.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try change(name, call, isConditional: false) { conversation, key, mark throws(TokenKeepError) in
            try conversation.clear(name, ifVersion: nil, sparesOthers: true, key, mark)
        }
    }

    /// What other programs keep under the name; in the common namespace alone.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try converse(call) { conversation throws(TokenKeepError) in
            try conversation.foreignItems(name, try versionKey())
        }
    }

    /// Our items of a namespace; never another program's.
    public func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        var listing = try converse(call) { conversation throws(TokenKeepError) in
            try conversation.list(namespace: namespace, service: service)
        }
        listing.problem = listing.problem?.inModule(name)
        return listing
    }

    /// Yes.
    public let supportsSealing = true

    /// The protection that any service gives.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { ItemSealing.ofService }

    /// See ``Module``.
    public func sealedItems(_ call: CallContext) -> [ItemName] {
        guard let vaultID = (try? call.sealer?.vaultID()) ?? nil else { return [] }
        let names = try? converse(call) { conversation throws(TokenKeepError) in
            try conversation.names(sealedBy: vaultID)
        }
        return names ?? []
    }

    /// Whether the service can be reached and its default collection is open.
    public func report(_ call: CallContext) -> ModuleReport {
        let place = "the Secret Service on the session bus"
        do throws(TokenKeepError) {
            let isLocked = try converse(call) { conversation throws(TokenKeepError) in
                try conversation.isDefaultCollectionLocked(for: "the default keyring")
            }
            return ModuleReport(
                module: name, place: place,
                notes: [isLocked ? "the default keyring is locked" : "the default keyring is open"])
        } catch {
            return ModuleReport(module: name, problem: error, place: place)
        }
    }

    /// Changes an item while no other thread does. A prompt is shown outside of that: nobody waits for a person.
    private func change<Result>(
        _ name: ItemName, _ call: CallContext, isConditional: Bool,
        _ body: (Conversation, ItemVersionKey, WriteMark) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let mark = WriteMark()
        let isFinal = { isConditional && mark.hasWritten }
        let silent = call.withoutPrompts
        do throws(TokenKeepError) {
            return try converse(silent, unless: isFinal) { conversation throws(TokenKeepError) in
                let key = try versionKey()
                return try gate.withLock(name, until: conversation.deadline) { () throws(TokenKeepError) in
                    try body(conversation, key, mark)
                }
            }
        } catch {
            let mayHelp = error.status == .locked || error.status == .unavailable && error.isAbsence
            guard call.promptsAllowed, mayHelp, !isFinal() else { throw error.noting(mark) }
        }
        do throws(TokenKeepError) {
            return try converse(call, unless: isFinal) { conversation throws(TokenKeepError) in
                try body(conversation, try versionKey(), mark)
            }
        } catch {
            throw error.noting(mark)
        }
    }

    /// Holds a conversation over the present link, and once more over another where the service went away meanwhile.
    private func converse<Result>(
        _ call: CallContext, unless isFinal: () -> Bool = { false },
        _ body: (Conversation) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        do throws(TokenKeepError) {
            try ForkGuard.check()
            let budget = Budget(milliseconds: timeout, until: call.deadline)
            let first = try link(until: budget.deadline)
            do throws(TokenKeepError) {
                return try body(conversation(over: first, call, budget))
            } catch {
                guard error.status == .unavailable, first.isLost, !isFinal(), !budget.deadline.hasPassed else {
                    throw error
                }
            }
            return try body(conversation(over: try link(until: budget.deadline), call, budget))
        } catch {
            throw error.inModule(name)
        }
    }

    private func conversation(over link: ServiceLink, _ call: CallContext, _ budget: Budget) -> Conversation {
        Conversation(link: link, call: call, budget: budget, arena: arena, module: name)
    }

    /// The present link, or a new one. Threads that come together may make several; the last one stays.
    private func link(until deadline: Deadline) throws(TokenKeepError) -> ServiceLink {
        let (connection, link) = present()
        try breaker.check()
        if let link { return link }
        let usable: BusConnection
        if let connection {
            usable = connection
        } else {
            let address = if let address { address } else { try BusAddress.find() }
            try ForkGuard.enter()
            try DescriptorSupply.check(DescriptorSupply.forConnection)  // loading takes some, and is tried once
            try GLibrary.load()
            usable = try BusConnection.connect(
                to: address, breaker: breaker, observers: observers, until: deadline)
            replaceLinks { _ in Links(connection: usable) }
        }
        let made = try ServiceLink(over: usable, until: deadline)
        replaceLinks { $0.connection === usable ? Links(connection: usable, link: made) : $0 }
        return made
    }

    private func replaceLinks(_ change: (Links) -> Links) {
        let before = links.withLock { links in
            let before = links
            links = change(links)
            return before
        }
        _ = consume before  // what nobody else has ends here, outside the lock
    }

    /// What is there and not lost. What is lost takes the breaker's reason with it.
    private func present() -> (BusConnection?, ServiceLink?) {
        let (lost, connection, link) = links.withLock { links -> (Links?, BusConnection?, ServiceLink?) in
            guard let connection = links.connection else { return (nil, nil, nil) }
            guard connection.isLost || links.link?.isLost == true else { return (nil, connection, links.link) }
            let lost = links
            links = Links()
            return (lost, nil, nil)
        }
        if lost != nil { breaker.close() }
        return (connection, link)  // what was lost ends here, outside the lock
    }
}

extension TokenKeepError {
    /// The same error, saying whether anything was sent that changes something.
    fileprivate func noting(_ mark: WriteMark) -> TokenKeepError {
        var copy = self
        copy.changedNothing = !mark.hasWritten
        return copy
    }
}
