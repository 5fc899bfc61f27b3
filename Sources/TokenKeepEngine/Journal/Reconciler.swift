import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Stores, in the vault's records, the changes that deferrable modules of a stack missed, and drains them later.
///
/// If a module of this stack on this machine has yet to receive a change of an item, the item's record *governs*: a load
/// returns the record's value and asks no module. An item is changed only under its lock, and no lock is held during a prompt.
struct Reconciler: Sendable {
    /// The maximum number of times that one call reads the modules, if items move meanwhile.
    private static let attempts = 3

    let dispatcher: Dispatcher
    let records: Records
    let pending: PendingWrites
    /// Whether the stack uses records, because it contains the vault or a deferrable module.
    let usesRecords: Bool
    /// Whether a load must query the journal, because a change may be pending or the item may move between two modules.
    private let loadsAskJournal: Bool

    init(
        _ dispatcher: Dispatcher, records: Records, clock: @escaping @Sendable () -> UnixTime = { .now },
        clocks: @escaping @Sendable () -> ClockMark = { .now }
    ) {
        let deferrable = dispatcher.operations.places.modules.filter(\.supportsPendingWrites)
        self.dispatcher = dispatcher
        self.records = records
        let beforeVault = dispatcher.places(for: .load).prefix { !$0.module.holdsRecords }.map(\.module.name)
        pending = PendingWrites(
            records: records, deferrable: deferrable, beforeVault: Set(beforeVault), clock: clock, clocks: clocks)
        usesRecords = !deferrable.isEmpty || dispatcher.operations.places.contains { $0.module.holdsRecords }
        let isVaultAlone = dispatcher.places(for: .load).map(\.module.holdsRecords) == [true]
        loadsAskJournal = usesRecords && !(deferrable.isEmpty && isVaultAlone)
    }

    /// Loads an item from its record if the record governs, otherwise from the modules.
    ///
    /// - Parameter drains: whether the load applies the item's pending changes.
    func load(_ name: ItemName, _ call: CallContext, drains: Bool = true) throws(TokenKeepError) -> TokenItem {
        guard loadsAskJournal, dispatcher.memory.item(name) == nil else { return try loadWithoutJournal(name, call) }
        var attempt = 1
        while true {
            let before = try records.journal.snapshot(for: name)
            var generation = before.generation
            var emptied: Set<String> = []
            if before.mayHavePending {
                if let item = try answer(name, drains: drains, call) { return item }
                if let removal = try pendingRemoval(of: name, call) {
                    if drains, let newer = removal.newerItem(name, call.withoutPrompts) { return newer }
                    generation = try records.journal.generation()  // the drain itself has changed it
                    emptied = try removal.modules(call)
                    // The drain skips an item that another process has changed meanwhile, so read this item's record
                    // again.
                    if let item = try answer(name, drains: drains, call) { return item }
                }
            }
            do throws(TokenKeepError) {
                return try dispatcher.load(name, call, emptied: emptied)
            } catch {
                // The item may have moved meanwhile from a module that was not asked yet to one that was already asked.
                guard error.status == .notFound, try records.journal.generation() != generation else {
                    throw error
                }
                guard attempt < Reconciler.attempts else { break }
                attempt += 1
            }
        }
        guard let item = try loadAlone(name, call.withoutPrompts) else {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        return item
    }

    /// Loads from a stack that uses no records, or whose `load` lines name only the vault.
    ///
    /// A vault that cannot be read does not count as empty, even if its line is optional, so its error is thrown.
    private func loadWithoutJournal(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        do throws(TokenKeepError) {
            return try dispatcher.load(name, call)
        } catch {
            if usesRecords, error.status == .notFound { _ = try records.journal.snapshot(for: name) }
            throw error
        }
    }

    /// Answers a load from the record alone, unless a drain finds a newer value of another program.
    ///
    /// The drain counts against the time limit of the call. If another process has drained the item meanwhile, reads
    /// the record again.
    ///
    /// - Returns: nil if no record governs the item.
    private func answer(_ name: ItemName, drains: Bool, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        var attempt = 1
        while true {
            let record = try records.record(of: name, call)
            let state = pending.state(of: record.map(JournalEntry.record) ?? .none)
            let isDrainable = drains && record.map { pending.mayBeDrained($0, asking: call) } == true
            guard let record, case .answer(let drainsNow) = Decisions.loaded(state, isDrainable: isDrainable) else {
                return nil
            }
            let item = try item(of: record, name, call)
            addToTrace(.load, name, item == nil ? .notFound : .ok, "something is pending, so its record answers alone")
            let drained = drainsNow ? (try? draining(name, call.withoutPrompts)) : nil
            if let newer = drained?.newer { return newer }
            if drained?.isNeeded == false, attempt < Reconciler.attempts {
                attempt += 1
                continue
            }
            guard let item else { throw TokenKeepError(.notFound, "no item \(name)") }
            return item
        }
    }

    /// Decrypts the record's value. If the vault's keys were replaced meanwhile, reads the record again.
    private func item(
        of record: JournalRecord, _ name: ItemName, _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try record.item()
        } catch {
            guard error.status == .locked, let again = try records.record(of: name, call) else { throw error }
            return try again.item()
        }
    }

    /// Loads the item under its lock, so that no other process can move it meanwhile.
    private func loadAlone(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let item = try records.begin(name, call)
        if let record = item.entry.record, pending.govern(record) { return try record.item() }
        let emptied = try modulesToEmpty(of: name, call)
        return try dispatcher.loadIfThere(name, call.sealing(with: item.sealer), emptied: emptied)
    }

    /// Lists the modules' items, corrected by records with pending changes. Lists again if items move meanwhile.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        guard usesRecords else { return try dispatcher.list(namespace: namespace, service: service, call) }
        var attempt = 1
        while true {
            let before = try records.journal.generation()
            let listing = try listOnce(namespace: namespace, service: service, call)
            guard attempt < Reconciler.attempts, try records.journal.generation() != before else { return listing }
            attempt += 1
        }
    }

    private func listOnce(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        guard try records.journal.mayHavePending() else {
            return try dispatcher.list(namespace: namespace, service: service, call)
        }
        let before = try records.journal.pendingRecords()
        var listing = try dispatcher.list(namespace: namespace, service: service, call) {
            isRemoved($0, by: before)
        }
        let found = try records.journal.pendingRecords()
        // A memory-only item is listed even if changes of the same name are pending, because a load returns it first.
        let isHidden = { (name: ItemName) in dispatcher.memory.item(name) != nil }
        let governing = found.records.values.filter(pending.govern).compactMap(\.details)
        listing.items.removeAll { !isHidden($0.name) && found.record(of: $0.name).map(pending.govern) ?? false }
        listing.items += governing.filter { $0.name.isIn(namespace: namespace, service: service) && !isHidden($0.name) }
        listing.items.sort { $0.name < $1.name }
        if let problem = found.problem { listing.count(problem) }
        return listing
    }

    /// Applies the pending changes of an item to the modules of this stack.
    ///
    /// If the removal of all items of the service is pending, drains this removal first. Otherwise it would later
    /// remove the value that is written now.
    func draining(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> PendingDrain.Outcome {
        guard name.removedService == nil else { return try ServiceRemoval(reconciler: self, name: name).drain(call) }
        if let removal = try pendingRemoval(of: name, call) {
            var outcome = try removal.drain(call.leavingTime)
            guard outcome.left.isEmpty else {
                outcome.left += try governing(name, call)?.pending.filter(pending.isOurs) ?? []
                return outcome
            }
        }
        // The wait for the lock leaves time for the rest of the call, because another process may hold the lock while
        // it waits for a module.
        var item = try records.begin(name, call.leavingTime)
        guard let record = item.entry.record, pending.govern(record) else {
            return PendingDrain.Outcome(isNeeded: false)
        }
        var drain = PendingDrain(
            pending: pending, record: record, call: call.sealing(with: item.sealer), isHeld: item.isAsked,
            trace: dispatcher.trace)
        var outcome = try drain.run(item)
        outcome.left.removeAll { !pending.isOurs($0) }
        try item.apply(outcome.change)
        return outcome
    }

    /// Drains an item. A module that must prompt the user before it deletes an older item may do so.
    ///
    /// Does not prompt if prompts are not allowed. The item is not locked during a prompt. Other processes then save
    /// the item only into its record, so that the module's item does not change before the user answers.
    func drainAsking(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> PendingDrain.Outcome {
        let silent = call.withoutPrompts
        let drained = try draining(name, silent)
        guard !drained.asking.isEmpty, call.promptsAllowed else { return drained }
        guard let question = try question(name, drained.asking, silent) else { return drained }
        for item in question.outdated { _ = try? item.module.clear(name, ifVersion: item.version, call) }
        question.right.end()
        return try draining(name, silent)
    }

    /// Returns the outdated items to ask the user about, and the right to prompt.
    ///
    /// - Returns: nil if no item is outdated, or if another process is prompting.
    private func question(
        _ name: ItemName, _ modules: Set<String>, _ call: CallContext
    ) throws(TokenKeepError) -> (outdated: [PendingDrain.Outdated], right: PromptRight)? {
        let item = try records.begin(name, call)
        guard let record = item.entry.record, pending.govern(record), let right = try item.beginAsking() else {
            return nil
        }
        let drain = PendingDrain(pending: pending, record: record, call: call.sealing(with: item.sealer))
        let outdated = drain.outdated(in: modules, item)
        guard outdated.isEmpty else { return (outdated, right) }
        right.end()
        return nil
    }

    /// Returns the item's record if the record governs, otherwise nil. Call this only if changes may be pending.
    func governing(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        guard let record = try records.record(of: name, call), pending.govern(record) else {
            return nil
        }
        return record
    }

    /// Makes the change that copies a module's item into its record, with a pending write to that module.
    func writingAhead(
        _ value: TokenItem, to module: any Module, _ item: borrowing ItemTransaction
    ) -> JournalChange {
        let fingerprint = item.keys.fingerprint(of: value.secret)
        let parts = pending.afterSave([], of: item, to: module, holders: [], looks: [module.name: fingerprint])
        return .parts(value: value, pending: parts.map { $0.sending(fingerprint) })
    }

    /// Adds an action of the journal to the trace.
    func addToTrace(_ operation: StackLine.Operation, _ name: ItemName, _ status: Status, _ reason: String) {
        dispatcher.trace?(
            StackTraceEvent(
                operation: operation, subject: name.description, module: "journal", status: status, action: nil,
                reason: reason))
    }
}
