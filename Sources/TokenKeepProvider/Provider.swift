import CSystemShims
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

/// The provider of `org.freedesktop.secrets`, with the state of the service. Used by the bus thread alone.
///
/// Calls of the vault run on workers. The bus thread then passes a worker's result to a closure in ``completions``.
final class Provider {
    static let name = "org.freedesktop.secrets"

    let bus: Bus
    let store: Store
    let writer: VaultWriter
    let reader: VaultReader
    let workers = Workers()
    let results: Results
    let options: ProviderOptions
    var index = ItemIndex()
    /// The secrets of the collection `session`, by the identifiers of their items.
    var memory: [String: SecretBytes] = [:]
    var clients = Clients()
    /// The passwords of unanswered `Unlock` calls of our own interface.
    var inputs: [ObjectIdentifier: PasswordInput] = [:]
    var prompts: [String: UnlockPrompt] = [:]
    /// The number of prompts shown since the start.
    var shownPrompts: UInt64 = 0
    var vault = VaultState()
    /// Whether a client locked a vault that has no password.
    var isHeldLocked = false
    /// The identifiers of items being created, by a digest of their attributes, so that two equal calls make one item.
    var creating: [String: String] = [:]
    /// The identifiers of collections being made, which no other new collection gets.
    var makingCollections: Set<String> = []
    /// The old names of records whose items' attributes are being changed, by the new names.
    var moving: [ItemName: ItemName] = [:]
    /// The items' identifiers that are being written into records, by the records' names.
    private var pinning: [ItemName: String] = [:]
    var freshness = Freshness()
    /// Calls that may be served, because their read of the vault has ended.
    private(set) var ready = FairQueue<() -> Void>()
    /// The order of each client's calls.
    private lazy var order = CallOrder { [unowned self] client, body in ready.append(body, of: client) }
    /// The maximum number of ready calls that are served before the bus is read again.
    private static let servedAtOnce = 8
    var timers = Timers()
    /// Whether a search for other keyrings is scheduled.
    var looksForOthers = false
    /// Whether the program has released its names and ends after the calls in flight.
    var isLeaving = false
    /// The bus name by which stores recognise the provider of their vault; nil if there is no vault.
    var vaultName: String?
    private var completions: [UInt64: (any Sendable) -> Void] = [:]
    private var tickets: UInt64 = 0

    init(_ bus: Bus, _ store: Store, _ options: ProviderOptions) throws(TokenKeepError) {
        let descriptor = tokenkeep_event_open()
        guard descriptor >= 0 else { throw .shortage("no descriptor for the results of workers") }
        self.bus = bus
        self.store = store
        self.options = options
        writer = VaultWriter(records: store.records)
        reader = try VaultReader(store.records)
        results = Results(descriptor: descriptor)
    }

    /// Runs `work` on a worker, and then `completion` on the bus thread.
    ///
    /// - Parameters:
    ///   - key: work with the same key runs in the order of submission; nil for work without an order.
    ///   - client: the client for which the work is done; "" for the program itself.
    func run<Value: Sendable>(
        on key: String?, for client: String = "", _ work: @escaping @Sendable () -> Value,
        then completion: @escaping (Value) -> Void
    ) {
        tickets += 1
        let ticket = tickets
        completions[ticket] = { value in if let value = value as? Value { completion(value) } }
        workers.submit(on: key, for: client) { [results] in results.post(ticket, work()) }
    }

    /// Runs `work` on a separate thread, or on a worker if no thread can be started; and then `completion` on the bus
    /// thread.
    func runAlone<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value, then completion: @escaping (Value) -> Void
    ) {
        tickets += 1
        let ticket = tickets
        completions[ticket] = { value in if let value = value as? Value { completion(value) } }
        let started = DetachedThread.start { [results] in results.post(ticket, work()) }
        if started != 0 { workers.submit(on: nil, for: "") { [results] in results.post(ticket, work()) } }
    }

    /// Runs a call of the vault on a worker, and then `completion` on the bus thread.
    ///
    /// If the call fails, its error is sent as the reply to `message`, and then `failed` is called.
    func ask<Value: Sendable>(
        on key: String?, for message: BusMessage, _ work: @escaping @Sendable () throws(TokenKeepError) -> Value,
        orElse failed: @escaping () -> Void = {}, then completion: @escaping (Value) -> Void
    ) {
        run(
            on: key, for: message.sender,
            { () -> Result<Value, TokenKeepError> in
                do throws(TokenKeepError) { return .success(try work()) } catch { return .failure(error) }
            },
            then: { [self] result in
                switch result {
                case .success(let value): completion(value)
                case .failure(let error):
                    if error.status != .locked { report(error, message) }
                    bus.fail(message, Refusal(error))
                    failed()
                }
            })
    }

    /// Calls the completions of all work whose results have arrived.
    func completeWork() {
        for (ticket, value) in results.take() { completions.removeValue(forKey: ticket)?(value) }
    }

    /// Whether any call or other work has not been completed yet.
    var hasWorkInFlight: Bool { !completions.isEmpty || !freshness.waiting.isEmpty || !ready.isEmpty }

    // MARK: the index

    /// Counts a call's bytes among the unanswered calls of its client. Throws if the client exceeds its limit.
    func hold(_ message: BusMessage) throws(Refusal) {
        guard message.holding == nil else { return }
        message.holding = try clients.unanswered.hold(message.size, of: message.sender)
    }

    /// Calls `body` once the index is up to date and the client's earlier calls on the same objects are answered.
    ///
    /// The index then contains every change that was announced before this call. If `body` or the read of the vault
    /// fails, or if the client's unanswered calls exceed their limit, the error is sent as the reply to `message`.
    ///
    /// - Parameter scope: the objects that the call uses, computed from the updated index; nil for a call without an
    ///   order.
    func whenFresh(
        _ message: BusMessage, _ scope: @escaping @autoclosure () -> CallScope?,
        _ body: @escaping () throws(Refusal) -> Void
    ) {
        do throws(Refusal) {
            try hold(message)
        } catch {
            return bus.fail(message, error)
        }
        whenLooked(for: message.sender) { [self] problem in
            if let problem {
                reportOnce(problem, message)
                return bus.fail(message, Refusal(problem))
            }
            let serve = { [bus] in
                do throws(Refusal) { try body() } catch { bus.fail(message, error) }
            }
            // A call that reads the vault a second time already has its turn.
            guard message.turn == nil, let scope = scope() else { return serve() }
            let turn = order.enter(message.sender, scope)
            message.turn = turn
            turn.begin(serve)
        }
    }

    /// Logs why the vault cannot be read. The same reason is logged once until the vault is readable again.
    private func reportOnce(_ problem: TokenKeepError, _ message: BusMessage) {
        guard freshness.reported != problem.message else { return }
        freshness.reported = problem.message
        report(problem, message)
    }

    /// Calls `body` after a read of the vault that starts after this call, with the error if the vault cannot be read.
    func whenLooked(for client: String, _ body: @escaping (TokenKeepError?) -> Void) {
        freshness.waiting.append((client, body))
        startLook()
    }

    /// Calls up to ``servedAtOnce`` ready closures, in turn for each client.
    func serveReady() {
        for _ in 0..<Provider.servedAtOnce {
            guard let body = ready.popFirst() else { return }
            body()
        }
    }

    /// Starts a read of the vault, unless one is running or none is needed.
    func startLook() {
        guard !freshness.isLooking, !freshness.waiting.isEmpty || freshness.isSignalled else { return }
        freshness.isLooking = true
        freshness.isSignalled = false
        freshness.written = []
        let served = freshness.waiting
        freshness.waiting = []
        run(on: "look", { [reader] in reader.look() }) { [self] look in
            freshness.isLooking = false
            apply(look)
            let problem = look.problem.flatMap { $0.status == .locked ? nil : $0 }
            for (client, body) in served { ready.append({ body(problem) }, of: client) }
            startLook()
        }
    }

    private func apply(_ look: VaultLook) {
        defer {
            // The program's start and a read of the whole vault use much memory that is not needed again.
            if !freshness.hasLooked || look.whole != nil { tokenkeep_give_back_memory() }
            freshness.hasLooked = true
        }
        for damage in look.damages { Log.line(damage.message) }
        if let problem = look.problem {
            if problem.status == .locked { become(VaultState(hasPassword: true, isOpen: false, openLevels: [])) }
            return
        }
        freshness.reported = nil
        claimName(ofVault: look.state.vaultID)
        if let whole = look.whole { replaceAll(whole) }
        for (name, details) in look.changes where !freshness.written.contains(name) { update(name, details) }
        // If an earlier read failed, clients have seen an empty service, locked or unreadable. So the items of the
        // first complete read must be signalled as new.
        let appears = look.whole != nil && !freshness.isIndexed && freshness.hasLooked
        freshness.isIndexed = freshness.isIndexed || look.whole != nil
        if appears { signalRead(look.state) } else { become(look.state) }
    }

    private func replaceAll(_ whole: [ItemDetails]) {
        let names = Set(whole.map(\.name))
        for item in index.items {
            guard let name = item.name, !names.contains(name), !freshness.written.contains(name) else { continue }
            update(name, nil)
        }
        for id in index.collections.keys.sorted() where !names.contains(where: { isRecord($0, of: id) }) {
            guard let name = Provider.recordName(ofCollection: id), !freshness.written.contains(name) else { continue }
            update(name, nil)
        }
        for details in whole where !freshness.written.contains(details.name) { update(details.name, details) }
    }

    private func isRecord(_ name: ItemName, of collection: String) -> Bool {
        name.namespace == ReservedNamespace.name && name.service == collection && name.account.isEmpty
    }

    static func recordName(ofCollection id: String) -> ItemName? {
        try? ItemName(namespace: ReservedNamespace.name, service: id, account: "")
    }

    /// Puts a change that this program made into the index. A read of the vault that is running may have missed the
    /// change, so that read's result for this record is ignored.
    func wrote(_ name: ItemName, _ details: ItemDetails?) {
        freshness.written.insert(name)
        update(name, details)
    }

    /// Returns the item with an identifier that no other item has.
    ///
    /// An item keeps its identifier when its attributes, and thereby its record's name, change. A later item with the
    /// old name gets another identifier, unless a client of the bus made it.
    private func placed(_ item: IndexedItem) -> IndexedItem {
        guard let name = item.name else { return item }
        if item.isAtOwnPath, let id = pinning[name] { return item.at(id) }
        pinning[name] = nil
        guard let other = index[item.collection, item.id], let former = other.name, former != name,
            moving[name] != former
        else { return item }
        if item.isAtOwnPath { return pinned(item) }
        // An identifier written in a record takes precedence over one derived from another record's name.
        if other.isAtOwnPath || pinning[former] != nil {
            let moved = pinned(other)
            drop(other)
            put(moved)
        }
        return item
    }

    /// Gives an item the first free identifier derived from its name, and writes the identifier into its record.
    private func pinned(_ item: IndexedItem) -> IndexedItem {
        guard let name = item.name else { return item }
        var alternate = 1
        while index[item.collection, ItemMapping.id(of: name, alternate: alternate)] != nil { alternate += 1 }
        let moved = item.at(ItemMapping.id(of: name, alternate: alternate))
        pinning[name] = moved.id
        run(on: moved.id, { [writer] in try? writer.pin(name, moved.id) }) { [self] details in
            if let details, pinning[name] == moved.id { wrote(name, details) }
        }
        return moved
    }

    /// Updates the index with a record's details, or removes the record if they are nil, and signals what changed.
    private func update(_ name: ItemName, _ details: ItemDetails?) {
        switch details.flatMap(ItemMapping.object(of:)) {
        case .item(let found):
            // While an item is being moved to another record, a read may return both records. Once the item is indexed
            // under the new name, ignore the old record.
            guard index.item(named: name) != nil || !moving.values.contains(name) else { return }
            let item = placed(found)
            if let before = index.item(named: name), before.path != item.path { drop(before) }
            put(item)
        case .collection(let collection): put(collection)
        case nil:
            // The item is being moved to another record, so it is not removed from the index.
            guard !moving.values.contains(name) else { return }
            pinning[name] = nil
            if let item = index.item(named: name) { drop(item) }
            if isRecord(name, of: name.service), let collection = index.collections[name.service] {
                drop(collection)
            }
        }
    }
}

/// Tracks whether the index matches the present state of the vault.
struct Freshness {
    /// Calls that wait for the next read of the vault. A closure's argument is the error if the read failed.
    var waiting: [(client: String, body: (TokenKeepError?) -> Void)] = []
    var isLooking = false
    /// Whether the watch of the vault reported a change.
    var isSignalled = true
    /// Whether the vault was read at least once. Before, no client has been told whether the vault is locked.
    var hasLooked = false
    /// Whether the whole vault was read into the index at least once.
    var isIndexed = false
    /// The last logged reason why the vault cannot be read; nil if the vault was readable since.
    var reported: String?
    /// The records that this program changed since the present read of the vault began.
    var written: Set<ItemName> = []
}
