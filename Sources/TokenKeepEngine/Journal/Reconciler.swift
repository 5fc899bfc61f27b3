import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// A stack some of whose modules may be out of reach: what they miss is recorded in the journal and settled later.
///
/// While a record owes something to a module of this stack on this machine, the record is the truth: it answers, and no
/// module is asked. Changes happen under the item's lock, which nobody holds during a prompt.
struct Reconciler: Sendable {
    /// How long a load may take to settle what it came across.
    private static let drainMilliseconds: UInt32 = 250
    /// How often an absence is doubted because something moved meanwhile.
    private static let attempts = 3

    let dispatcher: Dispatcher
    let vault: Vault
    let debts: PendingWrites

    /// nil where nothing can be owed to any module of the stack.
    init?(
        _ dispatcher: Dispatcher, vault: Vault, machine: MachineID = .current,
        clock: @escaping @Sendable () -> UnixTime = { .now }
    ) {
        var seen: Set<String> = []
        let deferrable = dispatcher.programs.places.map(\.module).filter {
            $0.supportsPendingWrites && seen.insert($0.name).inserted
        }
        guard !deferrable.isEmpty else { return nil }
        self.dispatcher = dispatcher
        self.vault = vault
        debts = PendingWrites(machine: machine, deferrable: deferrable, clock: clock)
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        guard dispatcher.memory.item(name) == nil else { return try dispatcher.load(name, call) }
        var attempt = 1
        while true {
            let before = try vault.snapshot()
            if before.mayHavePending, let record = try governing(name, call) {
                let item = try item(of: record, name, call)
                note(.load, name, item == nil ? .notFound : .ok, "its record owes something, so it answers alone")
                if debts.mayBeDrained(record) {
                    let soon = Deadline(milliseconds: Reconciler.drainMilliseconds)
                    let settled = try? settling(name, call.until(soon).withoutPrompts)
                    if item != nil, let newer = settled?.newer { return newer }
                }
                if let item { return item }
                throw TokenKeepError(.notFound, "no item \(name)")
            }
            do throws(TokenKeepError) {
                return try dispatcher.load(name, call)
            } catch {
                // The item may have moved from a module not asked yet to one that was.
                guard error.status == .notFound, try vault.generation() != before.generation else { throw error }
                guard attempt < Reconciler.attempts else { break }
                attempt += 1
            }
        }
        guard let item = try loadAlone(name, call.withoutPrompts) else {
            throw TokenKeepError(.notFound, "no item \(name)")
        }
        return item
    }

    /// Opens what a record holds. Its keys may have been replaced since it was read: then it is read once more.
    private func item(
        of record: JournalRecord, _ name: ItemName, _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try record.item()
        } catch {
            guard error.status == .locked, let again = try vault.record(of: name, call) else { throw error }
            return try again.item()
        }
    }

    /// Loads while no other process can move the item.
    private func loadAlone(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        try vault.change(name, call) { entry, _ throws(TokenKeepError) in
            if let record = entry.record, debts.govern(record) { return (.keep, try record.item()) }
            return (.keep, try dispatcher.loadIfThere(name, call))
        }
    }

    /// The modules' items, with what the journal knows better; once more where an item may have moved meanwhile.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        var attempt = 1
        while true {
            let before = try vault.generation()
            let listing = try listOnce(namespace: namespace, service: service, call)
            guard attempt < Reconciler.attempts, try vault.generation() != before else { return listing }
            attempt += 1
        }
    }

    private func listOnce(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        var listing = try dispatcher.list(namespace: namespace, service: service, call)
        guard try vault.mayHavePending() else { return listing }
        let owing = try vault.pendingRecords()
        // A memory-only item is what a load finds, whatever is owed below it.
        let isHidden = { (name: ItemName) in dispatcher.memory.item(name) != nil }
        let governing = owing.records.values.filter(debts.govern).compactMap(\.details)
        listing.items.removeAll { !isHidden($0.name) && owing.record(of: $0.name).map(debts.govern) ?? false }
        listing.items += governing.filter { $0.name.isIn(namespace: namespace, service: service) && !isHidden($0.name) }
        listing.items.sort { $0.name < $1.name }
        if let problem = owing.problem { listing.count(problem) }
        return listing
    }

    /// Pays what an item's record owes.
    ///
    /// - Returns: what is still owed to modules of this stack.
    @discardableResult
    func settle(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [PendingWrite] {
        try settling(name, call).left
    }

    /// The same, with what else came of it.
    func settling(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Drain.Outcome {
        try vault.change(name, call) { entry, keys throws(TokenKeepError) in
            guard let record = entry.record, debts.govern(record) else {
                return (.keep, Drain.Outcome())
            }
            let settlement = Drain(
                vault: vault, debts: debts, name: name, record: record, keys: keys, call: call,
                isHeld: vault.isAsking(name),
                trace: dispatcher.trace)
            var outcome = try settlement.settle()
            outcome.left.removeAll { !debts.isOurs($0) }
            return (outcome.change, outcome)
        }
    }

    /// Pays what an item's record owes. A module that asks its user before it lets an older item go asks now, where prompts
    /// are allowed. The item is not locked meanwhile: others save it into its record, and nobody pays, so that the module
    /// holds what the user is asked about.
    func drainAsking(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Drain.Outcome {
        let silent = call.withoutPrompts
        let settled = try settling(name, silent)
        guard !settled.asking.isEmpty, call.promptsAllowed else { return settled }
        guard let question = try question(name, settled.asking, silent) else { return settled }
        for item in question.outdated { _ = try? item.module.clear(name, ifVersion: item.version, call) }
        question.right.end()
        return try settling(name, silent)
    }

    /// What the user is to be asked about, and the right to; nil where there is nothing, or somebody else asks.
    private func question(
        _ name: ItemName, _ modules: Set<String>, _ call: CallContext
    ) throws(TokenKeepError) -> (outdated: [Drain.Outdated], right: AskingRight)? {
        try vault.change(name, call) { entry, keys throws(TokenKeepError) in
            guard let record = entry.record, debts.govern(record), let right = try vault.beginAsking(name) else {
                return (.keep, nil)
            }
            let settlement = Drain(
                vault: vault, debts: debts, name: name, record: record, keys: keys, call: call)
            let outdated = settlement.outdated(in: modules)
            guard !outdated.isEmpty else {
                right.end()
                return (.keep, nil)
            }
            return (.keep, (outdated, right))
        }
    }

    /// The item's record, where it is the truth for this stack. To be asked only where something may be owed.
    func governing(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        guard let record = try vault.record(of: name, call), debts.govern(record) else {
            return nil
        }
        return record
    }

    /// What is known of the item's values on their way to modules.
    func item(_ name: ItemName) -> PendingWrites.Item { PendingWrites.Item(name: name) { vault.sendings(of: name, to: $0) } }
}
