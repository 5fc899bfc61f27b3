import Glibc
public import TokenKeepCore
import TokenKeepKeys
package import TokenKeepRecords

/// The items of one namespace in a stack of modules. The C API, the Swift API and the command line call this class.
///
/// Every call runs on the caller's thread and returns within the store's timeout. Several threads may use one store at
/// the same time. In a child process made by `fork()`, every call throws ``Status/forked``. Memory-only items end with
/// the store.
public final class Store: Sendable {
    /// The namespace of the items that the store handles.
    public let namespace: String
    let dispatcher: Dispatcher
    let reconciler: Reconciler
    /// The vault's records (items and pending changes) and session files. Announces changes to watches.
    package let records: Records
    /// The shared bytes by which a session notices that another process has changed its tokens or its state.
    package let changeMarks: ChangeMarks
    /// The open sessions of the store, which can send requests to a server.
    package let openSessions = OpenObjects()
    /// The cancellation of the calls in flight.
    ///
    /// ``cancel()`` replaces this object, so that later calls are not affected.
    private let present = MutexGuarded(Cancellation())
    /// The time limit, in milliseconds, of a call without its own deadline.
    package let timeoutMilliseconds: UInt32
    /// The time limit, in milliseconds, of work that may take long. Unlimited by default.
    private let longTimeoutMilliseconds: UInt32
    private let promptsAllowed: Bool
    /// Unlocks the vault, with a prompt if necessary.
    package let unlocking: VaultUnlocking
    private let owner = getpid()

    /// Reads the configuration. Opens no module and touches neither bus nor network nor vault.
    ///
    /// - Throws: ``Status/invalid`` if an option or the stack is malformed.
    public init(_ configuration: StoreConfiguration = StoreConfiguration()) throws(TokenKeepError) {
        try Limits.check(configuration.namespace, field: "namespace", atMost: Limits.namespace)
        let stack = try configuration.readStack()
        namespace = configuration.namespace
        timeoutMilliseconds = configuration.effectiveTimeout
        longTimeoutMilliseconds = configuration.longTimeoutMilliseconds
        promptsAllowed = configuration.isInteractive
        records = Records(
            VaultOpener(
                path: configuration.vaultPath, residentKeys: configuration.residentKeys ?? ClassKeyStore(),
                costs: configuration.passwordCosts))
        unlocking = VaultUnlocking(records: records, prompt: configuration.prompt, password: configuration.password)
        changeMarks = ChangeMarks(records)
        let factory = ModuleFactory(
            records: records, versionKeys: VersionKeys(records: records),
            busAddress: configuration.busAddress, standIns: configuration.standIns,
            directories: configuration.stackDirectories)
        let written = Set(stack.lines.filter { $0.applies(to: .save) || $0.applies(to: .clear) }.map(\.module))
        let operations = try StackOperations(stack.entries) { line throws(TokenKeepError) in
            try factory.make(line, isWritten: written.contains(line.module))
        }
        dispatcher = Dispatcher(
            operations: operations, memory: MemoryModule(), trace: configuration.trace ?? DebugTrace.handler())
        reconciler = Reconciler(
            dispatcher, records: records, clock: configuration.clock, clocks: configuration.clocks)
        if reconciler.pending.isPossible { try operations[.save].checkEndsWhereItSaves() }
    }

    /// Cancels every call in flight on this store. Later calls are not affected.
    ///
    /// A cancelled call soon throws ``Status/cancelled``, unless it has already succeeded. A cancelled save or clear
    /// takes effect wholly or not at all. If a module may already have received the change, the rules for a timeout
    /// apply.
    public func cancel() {
        guard isUsable else { return }  // after fork(), a thread of the parent may hold the lock
        let ended = present.withLock { present in
            let ended = present
            present = Cancellation()
            return ended
        }
        ended.cancel()
    }

    /// The present cancellation. ``cancel()`` cancels this object, and thereby every call that began with it.
    public var cancellation: Cancellation { present.withLock { $0 } }

    /// The password and the recovery code of the vault.
    public var passwords: VaultPasswords { VaultPasswords(store: self) }

    /// The device to which the vault is bound.
    package var device: VaultDevice { VaultDevice(store: self) }

    /// The writes and removals that are pending for modules.
    public var pendingChanges: PendingChanges { PendingChanges(store: self) }

    /// Moves items between modules, and exports and imports them.
    public var transfer: ItemTransfer { ItemTransfer(store: self) }

    /// The store's calls in variants that never prompt.
    package var withoutPrompts: StoreWithoutPrompts { StoreWithoutPrompts(store: self) }

    /// Copies a secret into the process's guarded memory, for a save.
    ///
    /// Several secrets share guard pages, because new guard pages for each secret would take longer.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    public func copySecret(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(copying: bytes)
    }

    /// Saves an item, or replaces an existing one. The item is durable on return, unless it is memory-only.
    ///
    /// - Throws: ``Status/duplicate`` or ``Status/conflict`` if the request's precondition is not met;
    ///   ``Status/policy`` or ``Status/unsupported`` if the item's level cannot be met; ``Status/invalid`` if the
    ///   item's namespace is not the store's; any failure of a module.
    public func save(_ request: SaveRequest, until deadline: Deadline? = nil) throws(TokenKeepError) -> SaveOutcome {
        try save(request, begin(.save, until: deadline))
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        guard request.name.isIn(namespace: namespace, service: nil) else {
            throw TokenKeepError(.invalid, "the item's namespace is not that of the store")
        }
        try LevelPolicy.check(request.accessLevel, records)
        return try unlocking.retrying(call, for: request.name) { call throws(TokenKeepError) in
            try reconciler.save(request, call)
        }
    }

    /// Loads an item.
    ///
    /// - Throws: ``Status/notFound`` if every module that may hold the item answered that it has no such item;
    ///   otherwise the worst failure of the modules.
    public func load(
        service: String, account: String, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> TokenItem {
        let call = try begin(.load, until: deadline)
        let name = try name(service, account)
        return try unlocking.retrying(call, for: name) { call throws(TokenKeepError) in try load(name, call) }
    }

    /// Clears an item from every module. Clearing an item that does not exist is not an error.
    ///
    /// - Returns: whether the item existed.
    /// - Throws: the failure of a module, such as ``Status/unavailable`` or ``Status/locked``, if the removal cannot
    ///   become pending for the module.
    @discardableResult
    public func clear(
        service: String, account: String, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> Bool {
        let call = try begin(.clear, until: deadline)
        return try clear(name(service, account), ifVersion: nil, call)
    }

    /// Clears an item if its version is still `version`.
    ///
    /// - Throws: ``Status/conflict`` if the item was changed or does not exist; ``Status/invalid`` for version 0.
    public func clear(
        service: String, account: String, ifVersion version: UInt64, until deadline: Deadline? = nil
    ) throws(TokenKeepError) {
        let call = try begin(.clear, until: deadline)
        guard version != 0 else { throw TokenKeepError(.invalid, "0 is no version of a loaded item") }
        _ = try clear(name(service, account), ifVersion: version, call)
    }

    /// Clears every item of a service and returns the number of cleared items.
    ///
    /// If a deferrable module cannot list its items, the removal of the whole service becomes pending for that module,
    /// and the result does not count the module's items.
    ///
    /// - Throws: the first failure to list or clear an item. The remaining items are cleared nevertheless.
    public func clear(service: String, until deadline: Deadline? = nil) throws(TokenKeepError) -> Int {
        let call = try begin(.clear, until: deadline)
        _ = try begin(.list, until: call.deadline)
        _ = try name(service, "")
        let listing = try listToClear(service, call)
        var cleared = 0
        var problem = try reconciler.deferRemoval(of: service, in: namespace, after: listing, call)
        for name in listing.items.map(\.name) + reconciler.removedItems(of: service, in: namespace) {
            do throws(TokenKeepError) {
                guard !call.deadline.hasPassed else {
                    throw call.deadline.failure("the deadline passed before the others", hint: "clear it again")
                }
                if try clear(name, ifVersion: nil, call) { cleared += 1 }
            } catch {
                problem = problem ?? error
                if error.status == .timedOut || call.deadline.isCancelled { break }
            }
        }
        if let problem {
            let items = cleared == 1 ? "1 item of \(service) was" : "\(cleared) items of \(service) were"
            throw TokenKeepError(
                problem.status, "\(items) cleared, but \(problem.message)", module: problem.module, hint: problem.hint)
        }
        return cleared
    }

    /// Lists the items of a service. If no module can be asked, returns an empty listing with the failure.
    private func listToClear(_ service: String, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        do throws(TokenKeepError) {
            return try list(service, call)
        } catch {
            guard Decisions.isOutage(error.status) else { throw error }
            return ItemListing(problem: error)
        }
    }

    /// Lists the items of a service, or of all services if `service` is nil, without their secrets.
    ///
    /// - Throws: the worst failure if no module answered. If some modules failed, the listing's `problem` is the worst
    ///   failure.
    public func list(
        service: String? = nil, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> ItemListing {
        let call = try begin(.list, until: deadline)
        if let service { _ = try name(service, "") }
        try unlocking.withGivenPassword(call)
        return try list(service, call)
    }

    /// The names of the modules that a save may ask, in the order of the stack, without the memory module.
    public var savingModules: [String] { dispatcher.places(for: .save).map(\.module.name) }

    /// Whether programs other than TokenKeep may change items unnoticed by this process.
    var hasForeignWriters: Bool { reconciler.pending.isPossible }

    /// Whether a module other than the vault may have items that a watch reports.
    var keepsItemsElsewhere: Bool {
        dispatcher.places(for: .list).modules.contains { $0.name != "vault" && $0.name != ItemView.memory }
    }

    /// Reports the state of the store and its modules.
    ///
    /// - Throws: ``Status/forked`` after `fork()`, ``Status/cancelled`` if the call was cancelled. Failures of modules
    ///   are in the report.
    public func status() throws(TokenKeepError) -> StoreStatus {
        let call = try begin(.any)
        let modules = dispatcher.operations.places.modules
        return StoreStatus(
            modules: modules.map { $0.report(call) }, isMemoryLocked: (try? GuardedPool.shared.isLocked()) ?? false,
            pending: pendingReport)
    }

    /// The pending writes and removals. Asks no module.
    package var pendingReport: PendingReport { PendingReport(records) }

    /// Registers an observer that is called after each signal of a module, until the observer returns false.
    func whenChanged(_ observer: @escaping @Sendable () -> Bool) {
        for module in dispatcher.places(for: .list).modules { module.whenChanged(observer) }
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try reconciler.load(name, call)
    }

    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try reconciler.clear(name, ifVersion: version, call)
    }

    func list(_ service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try reconciler.list(namespace: namespace, service: service, call)
    }

    func name(_ service: String, _ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: namespace, service: service, account: account)
    }

    /// The deadline of a call that would begin now.
    ///
    /// A caller that waits before its call can pass this deadline as `until`, so that the wait counts, too.
    public var deadline: Deadline { Deadline(milliseconds: timeoutMilliseconds, cancellation: cancellation) }

    /// The deadline of work that may take long and begins now: a change of keys, an import or an export.
    package var longDeadline: Deadline { Deadline(milliseconds: longTimeoutMilliseconds, cancellation: cancellation) }

    /// Whether this process opened the store. False in a child process made by `fork()`.
    public var isUsable: Bool { getpid() == owner }

    /// Checks that a call may begin, and creates the call's context.
    ///
    /// - Throws: ``Status/unsupported`` if the stack has no line for the operation, so that no module can answer;
    ///   ``Status/cancelled`` if the call was cancelled before it began.
    func begin(
        _ operation: StackLine.Operation, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> CallContext {
        guard isUsable else {
            throw TokenKeepError(
                .forked, "the store was opened before fork()", hint: "open another one in the child")
        }
        guard operation == .any || dispatcher.operations[operation].asksModules else {
            throw TokenKeepError(
                .unsupported, "no module of the stack is asked to \(operation.rawValue) items",
                hint: "add a line for the operation, or one for: any")
        }
        var deadline = deadline ?? self.deadline
        if deadline.cancellation == nil { deadline = deadline.cancelled(by: cancellation) }
        try deadline.checkCancellation()
        return CallContext(deadline: deadline, promptsAllowed: promptsAllowed).sealing(with: VaultSealer(records))
    }
}

/// The state of a store, for `tokenkeep status`.
public struct StoreStatus: Sendable {
    /// The reports of the modules, in the order of the stack.
    public let modules: [ModuleReport]
    /// Whether the memory for secrets is locked, so that the system never swaps it out.
    public let isMemoryLocked: Bool
    /// The pending writes and removals.
    public let pending: PendingReport
}
