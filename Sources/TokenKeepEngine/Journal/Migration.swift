import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Moves items from one module of a stack to another, by the journal's rules.
///
/// The value stands in the item's record, with what it owes, before any module changes; the source loses it only when it
/// was read back where it belongs. A kill at any point leaves a record that every load obeys and another run completes.
struct Migration {
    let reconciler: Reconciler
    let source: any Module
    let target: any Module

    var dispatcher: Dispatcher { reconciler.dispatcher }
    var debts: PendingWrites { reconciler.debts }
    private var vault: Vault { reconciler.vault }

    /// - Throws: ``Status/invalid`` where the stack lacks a module, ``Status/unsupported`` where it cannot take part.
    init(_ reconciler: Reconciler, from source: String, to target: String) throws(TokenKeepError) {
        guard source != target else {
            throw TokenKeepError(.invalid, "items are moved from one module to another, not from \(source) to itself")
        }
        self.reconciler = reconciler
        self.source = try Migration.module(source, of: reconciler.dispatcher)
        self.target = try Migration.module(target, of: reconciler.dispatcher)
    }

    private static func module(_ name: String, of dispatcher: Dispatcher) throws(TokenKeepError) -> any Module {
        guard let module = dispatcher.programs.places.map(\.module).first(where: { $0.name == name }) else {
            throw TokenKeepError(
                .invalid, "the stack has no module \"\(name)\"", hint: "tokenkeep status names the modules")
        }
        guard module.supportsPendingWrites || module.holdsRecords else {
            throw TokenKeepError(.unsupported, "items cannot be moved from or to \(name)")
        }
        return module
    }

    /// - Parameters:
    ///   - service: only items of this service; nil for all.
    ///   - milliseconds: how long one item may take at most.
    func run(
        namespace: String, service: String?, isDryRun: Bool, _ call: CallContext, eachItem milliseconds: UInt32,
        progress: JournalProgress?
    ) throws(TokenKeepError) -> MigrationOutcome {
        for module in [source, target] {
            // A module that was never used here would otherwise be empty where it is only absent.
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
                if try isDryRun ? canMove(name, call) : move(name, call) { outcome.moved += 1 }
            } catch {
                outcome.failures.append(MigrationOutcome.Failure(item: name, error: error))
            }
        }
        try call.deadline.checkCancellation()
        if !names.isEmpty { progress?(names.count, names.count) }
        return outcome
    }

    /// What the source lists, and what records say is its own or on the way from or to the modules.
    private func candidates(
        namespace: String, service: String?, _ call: CallContext, _ outcome: inout MigrationOutcome
    ) throws(TokenKeepError) -> [ItemName] {
        let listing = try source.list(namespace: namespace, service: service, call)
        let owing = try vault.pendingRecords()
        for problem in [listing.problem, source.holdsRecords ? nil : owing.problem].compactMap({ $0 }) {
            outcome.failures.append(MigrationOutcome.Failure(item: nil, error: problem))
        }
        let moving = owing.records.values.filter { record in
            record.details != nil
                && record.debts.contains { debts.isOurs($0) && [source.name, target.name].contains($0.module) }
        }
        let owed = moving.compactMap(\.name).filter { $0.isIn(namespace: namespace, service: service) }
        return Set(listing.items.map(\.name) + owed).sorted()
    }

    /// Whether a move would be tried. Changes nothing.
    private func canMove(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let record = try vault.record(of: name, call)
        return try plan(name, record.map(JournalEntry.record) ?? .none, call) != nil
    }

    /// - Returns: false where the source does not have it any more.
    private func move(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let secret = try vault.change(name, call) {
            entry, keys throws(TokenKeepError) -> (JournalChange, SecretBytes?) in
            guard let plan = try plan(name, entry, call) else { return (.keep, nil) }
            let owed = debts(after: plan, reconciler.item(name), keys)
            if plan.isGoverned, owed == plan.debts { return (.keep, plan.item.secret) }
            var details = plan.item.details
            details.version = keys.versions.version(of: details, secret: plan.item.secret)
            return (.value(.owed, details: details, secret: plan.item.secret, debts: owed), plan.item.secret)
        }
        guard let secret else { return false }
        try settle(name, secret, call)
        return true
    }

    private enum End {
        case moved
        case unpaid
        /// Another program changed what a module has.
        case superseded
    }

    private func settle(_ name: ItemName, _ secret: SecretBytes, _ call: CallContext) throws(TokenKeepError) {
        let arrival = MigrationArrival(hasArrived: target.holdsRecords)
        let modules = debts.deferrable.map {
            MigrationModule(
                base: $0, isTarget: $0.name == target.name, arrival: arrival, trace: reconciler.dispatcher.trace)
        }
        let moving = PendingWrites(machine: debts.machine, deferrable: modules, clock: debts.clock)
        let end = try vault.change(name, call) { entry, keys throws(TokenKeepError) -> (JournalChange, End) in
            // Settled meanwhile by somebody else, who obeyed the same record.
            guard let record = entry.record, moving.govern(record) else { return (.keep, .moved) }
            // The record as it was read back: what is removed elsewhere is here.
            guard try record.item()?.secret == secret else { return (.keep, .superseded) }
            let settlement = Drain(
                vault: vault, debts: moving, name: name, record: record, keys: keys, call: call,
                isHeld: vault.isAsking(name), isMove: true)
            let outcome = try settlement.settle()
            if let alteration = arrival.alteration, let item = try record.item() {
                let owed = pendingBack(record, reconciler.item(name), after: alteration, keys)
                let state = owed.isEmpty ? RecordState.home : .owed
                return (.value(state, details: item.details, secret: item.secret, debts: owed), .unpaid)
            }
            guard !outcome.left.contains(where: moving.isOurs) else { return (outcome.change, .unpaid) }
            let isThere = arrival.hasArrived && (!target.holdsRecords || hasValue(outcome.change))
            return (outcome.change, isThere ? .moved : .superseded)
        }
        switch end {
        case .moved: return
        case .unpaid:
            if arrival.alteration != nil { _ = try? reconciler.settle(name, call) }
            throw arrival.problem ?? unreachable(name)
        case .superseded:
            throw TokenKeepError(
                .conflict, "\(name) was changed by another program meanwhile", hint: "its change stays; run this again")
        }
    }

    private func hasValue(_ change: JournalChange) -> Bool {
        if case .value = change { return true }
        return false
    }

    private func unreachable(_ name: ItemName) -> TokenKeepError {
        TokenKeepError(
            .unavailable, "\(name) is on its way, and the vault keeps it: a module does not answer any more",
            hint: "run this again, or: tokenkeep sync")
    }
}
