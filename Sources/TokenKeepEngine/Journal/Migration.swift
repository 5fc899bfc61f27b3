import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Moves items from one module of a stack to another, by the journal's rules.
///
/// Before any module changes, the item's record gets the value and the pending changes. The item is removed from the
/// source only after a load from the target has returned the item. If the process is killed, loads return the record's
/// value, and the next call completes the move.
struct Migration {
    let reconciler: Reconciler
    let source: any Module
    let target: any Module

    var dispatcher: Dispatcher { reconciler.dispatcher }
    var pending: PendingWrites { reconciler.pending }
    private var records: Records { reconciler.records }

    /// Finds the source and the target among the stack's modules.
    ///
    /// - Throws: ``Status/invalid`` if the stack lacks a module; ``Status/unsupported`` if a module's items cannot be
    ///   moved.
    init(_ reconciler: Reconciler, from source: String, to target: String) throws(TokenKeepError) {
        guard source != target else {
            throw TokenKeepError(.invalid, "items are moved from one module to another, not from \(source) to itself")
        }
        self.reconciler = reconciler
        self.source = try Migration.module(source, of: reconciler.dispatcher)
        self.target = try Migration.module(target, of: reconciler.dispatcher)
    }

    private static func module(_ name: String, of dispatcher: Dispatcher) throws(TokenKeepError) -> any Module {
        guard let module = dispatcher.operations.places.map(\.module).first(where: { $0.name == name }) else {
            throw TokenKeepError(
                .invalid, "the stack has no module \"\(name)\"", hint: "tokenkeep status names the modules")
        }
        guard module.supportsPendingWrites || module.holdsRecords else {
            throw TokenKeepError(.unsupported, "items cannot be moved from or to \(name)")
        }
        return module
    }

    /// Moves the items. A dry run returns the names of the items that would be moved, and changes nothing.
    ///
    /// - Parameters:
    ///   - service: the service whose items are moved; nil for all services.
    ///   - milliseconds: the time limit for one item, in milliseconds.
    func run(
        namespace: String, service: String?, isDryRun: Bool, _ call: CallContext, eachItem milliseconds: UInt32,
        progress: JournalProgress?
    ) throws(TokenKeepError) -> MigrationOutcome {
        for module in [source, target] {
            // Check the module's condition first: an absent module that was never used here would list no items instead
            // of failing.
            if let problem = module.report(call.withoutPrompts).problem { throw problem.inModule(module.name) }
            if call.promptsAllowed, !isDryRun { try module.prepare(call) }
        }
        var outcome = MigrationOutcome()
        let names = try candidates(namespace: namespace, service: service, call.withoutPrompts, &outcome)
        for (index, name) in names.enumerated() {
            try call.deadline.checkCancellation()
            progress?(index, names.count)
            let call = call.until(Deadline(milliseconds: milliseconds)).withoutPrompts
            do throws(TokenKeepError) {
                guard !call.deadline.hasPassed else {
                    throw call.deadline.failure("the deadline passed before \(name) was moved")
                }
                if try isDryRun ? canMove(name, call) : move(name, call) { outcome.items.append(name) }
            } catch {
                outcome.failures.append(MigrationOutcome.Failure(item: name, error: error))
            }
        }
        try call.deadline.checkCancellation()
        if !names.isEmpty { progress?(names.count, names.count) }
        return outcome
    }

    /// The items that the source lists, and the items whose record has a change pending for the source or the target.
    ///
    /// If the source is the vault, the requests of an offline queue are left out, because they must stay in the vault.
    private func candidates(
        namespace: String, service: String?, _ call: CallContext, _ outcome: inout MigrationOutcome
    ) throws(TokenKeepError) -> [ItemName] {
        let listing = try source.list(namespace: namespace, service: service, call)
        let found = try records.journal.pendingRecords()
        for problem in [listing.problem, source.holdsRecords ? nil : found.problem].compactMap({ $0 }) {
            outcome.failures.append(MigrationOutcome.Failure(item: nil, error: problem))
        }
        let moving = found.records.values.filter { record in
            record.details != nil
                && record.pending.contains { pending.isOurs($0) && [source.name, target.name].contains($0.module) }
        }
        let onTheirWay = moving.compactMap(\.name).filter { $0.isIn(namespace: namespace, service: service) }
        let names = Set(listing.items.map(\.name) + onTheirWay)
        return names.filter { !source.holdsRecords || $0.service != ItemName.queueService }.sorted()
    }

    /// Whether ``move(_:_:)`` would move the item. Changes neither items nor records.
    private func canMove(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let record = try records.record(of: name, call)
        return try plan(name, record.map(JournalEntry.record) ?? .none, call) != nil
    }

    /// Moves one item.
    ///
    /// - Returns: false if the source no longer has the item.
    private func move(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        guard let secret = try writeAhead(name, call) else { return false }
        guard let alteration = try drain(name, secret, call) else { return true }
        _ = try? reconciler.draining(name, call)
        throw alteration
    }

    /// Writes the item into its record, with a pending write to the target and a pending removal from the source.
    ///
    /// - Returns: the secret; nil if the source no longer has the item.
    private func writeAhead(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> SecretBytes? {
        try reconciler.drainRemoval(before: name, call, isNeeded: true)
        var item = try records.begin(name, call)
        guard let plan = try plan(name, item.entry, call.sealing(with: item.sealer)) else { return nil }
        let parts = pending(after: plan, item)
        if plan.isGoverned, parts == plan.pending { return plan.item.secret }
        var details = plan.item.details
        details.version = item.keys.versions.version(of: details, secret: plan.item.secret)
        try item.apply(.parts(value: TokenItem(details: details, secret: plan.item.secret), pending: parts))
        return plan.item.secret
    }

    /// Drains the item: saves it in the target, reads it back, and then removes it from the source.
    ///
    /// - Returns: the error if the target altered the item, so that the item must return to the source; nil if the item
    ///   was moved.
    /// - Throws: an error if the item was not moved. The source then keeps the item.
    private func drain(
        _ name: ItemName, _ secret: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> TokenKeepError? {
        var item = try records.begin(name, call)
        // If the record has no pending change any more, another process has completed the move meanwhile.
        guard let record = item.entry.record, pending.govern(record) else { return nil }
        // Copies in other modules may be removed only if the record still has the value that this move has written.
        guard let value = try record.item(), value.secret == secret else { throw superseded(name) }
        var drain = PendingDrain(
            pending: pending, record: record, call: call.sealing(with: item.sealer), isHeld: item.isAsked,
            move: PendingDrain.Move(target: target.name, hasArrived: target.holdsRecords), trace: dispatcher.trace)
        let outcome = try drain.run(item)
        if let alteration = drain.move?.alteration {
            try item.apply(.parts(value: value, pending: pendingBack(record, item, after: alteration)))
            return outcome.obstacle ?? unreachable(name)
        }
        try item.apply(outcome.change)
        guard !outcome.left.contains(where: pending.isOurs) else { throw outcome.obstacle ?? unreachable(name) }
        guard drain.move?.hasArrived == true, !target.holdsRecords || outcome.change.hasValue else {
            throw superseded(name)
        }
        return nil
    }

    private func superseded(_ name: ItemName) -> TokenKeepError {
        TokenKeepError(
            .conflict, "\(name) was changed by another program meanwhile", hint: "its change stays; run this again")
    }

    private func unreachable(_ name: ItemName) -> TokenKeepError {
        TokenKeepError(
            .unavailable, "\(name) is on its way, and the vault keeps it: a module does not answer any more",
            hint: "run this again, or: tokenkeep sync")
    }
}
