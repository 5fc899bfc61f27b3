import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The removal of all items of a service, which is pending for modules that could not list their items.
///
/// The removal is stored as a record whose name no item has (``ItemName/init(removalOf:in:)``). While the removal is
/// pending for a module, the module counts as having no items of the service. Each save of an item of the service is
/// then written into a record first, so that the removal is drained before the newer item reaches the module.
struct ServiceRemoval {
    let reconciler: Reconciler
    /// The name of the removal's record.
    let name: ItemName

    private var pending: PendingWrites { reconciler.pending }
    private var records: Records { reconciler.records }

    /// Makes the removal pending for the modules that missed it.
    func begin(in missed: [any Module], _ call: CallContext) throws(TokenKeepError) {
        let names = Set(missed.map(\.name))
        var item = try records.begin(name, call)
        let known = item.entry.record?.pending ?? []
        let kept = known.filter { !(pending.isOurs($0) && names.contains($0.module)) }
        try item.apply(.cleared(pending: kept + pending.afterClear([], of: item, holders: missed)))
        reconciler.addToTrace(.clear, name, .ok, "its removal is pending for \(names.sorted().joined(separator: ", "))")
    }

    /// Removes the service's items that are no newer than the removal, from the modules that answer.
    ///
    /// Skips an item whose record governs, because that record decides about the item. Each item is locked during its
    /// removal, but the removal's record is not.
    func drain(_ call: CallContext) throws(TokenKeepError) -> PendingDrain.Outcome {
        var outcome = PendingDrain.Outcome()
        guard let record = try reconciler.governing(name, call) else { return outcome }
        var drained: [PendingWrite] = []
        for part in record.pending {
            guard let module = pending.module(of: part) else { continue }
            outcome.left.append(part)
            guard module.mayAnswer, !call.deadline.hasPassed else { continue }
            do throws(TokenKeepError) {
                try empty(module, part, call)
                drained.append(outcome.left.removeLast())
            } catch {
                outcome.obstacle = outcome.obstacle ?? error
            }
        }
        guard !drained.isEmpty else { return outcome }
        var item = try records.begin(name, call)
        // Another removal of the service may have become pending meanwhile, and stays.
        guard let present = item.entry.record else { return outcome }
        let left = present.pending.filter { !drained.contains($0) }
        if left != present.pending { try item.apply(.cleared(pending: left)) }
        outcome.left = left.filter(pending.isOurs)
        return outcome
    }

    /// Applies the pending removal of the service to one item that is being loaded.
    ///
    /// Only this item is judged first, because the whole removal may take longer than the call allows, or may fail at
    /// another item.
    ///
    /// - Returns: the item, if another program wrote it after the removal; otherwise nil.
    func newerItem(_ itemName: ItemName, _ call: CallContext) -> TokenItem? {
        guard let record = try? reconciler.governing(name, call), pending.mayBeDrained(record, asking: call) else {
            return nil
        }
        var newer: TokenItem?
        for part in record.pending where newer == nil {
            guard let module = pending.module(of: part) else { continue }
            newer = (try? remove(itemName, from: module, part, call))?.newer
        }
        _ = try? drain(call.leavingTime)
        return newer
    }

    /// The names of the modules of this stack for which the removal is still pending.
    func modules(_ call: CallContext) throws(TokenKeepError) -> Set<String> {
        Set(try reconciler.governing(name, call)?.pending.filter(pending.isOurs).map(\.module) ?? [])
    }

    private func empty(_ module: any Module, _ part: PendingWrite, _ call: CallContext) throws(TokenKeepError) {
        guard let service = name.removedService else { return }
        let listing = try module.list(namespace: name.namespace, service: service, call)
        let listed = listing.items.map(\.name)
        for itemName in try listed + sealedItems(of: service, in: module.name, besides: Set(listed)) {
            guard let outcome = try remove(itemName, from: module, part, call) else { return }
            if let obstacle = outcome.obstacle { throw obstacle }
            guard outcome.left.isEmpty else {
                throw TokenKeepError(.unavailable, "\(module.name) is not asked now", module: module.name)
            }
        }
        if let problem = listing.problem { throw problem.inModule(module.name) }
    }

    /// Removes one item from a module, unless the item is newer than the removal or the item's own record has a pending
    /// change for the module.
    ///
    /// - Returns: the drain's outcome; nil if the removal of the service is no longer pending.
    private func remove(
        _ itemName: ItemName, from module: any Module, _ part: PendingWrite, _ call: CallContext
    ) throws(TokenKeepError) -> PendingDrain.Outcome? {
        let item = try records.begin(itemName, call.leavingTime)
        // Another process may have drained the removal meanwhile, and a newer item may have been saved.
        guard try reconciler.governing(name, call)?.pending.contains(part) == true else { return nil }
        if let record = item.entry.record, pending.has(record.pending, for: module.name) {
            return PendingDrain.Outcome(isNeeded: false)
        }
        let cleared = JournalRecord(holdsValue: false, pending: [part], name: itemName) { nil }
        var drain = PendingDrain(
            pending: pending, record: cleared, call: call.sealing(with: item.sealer), isHeld: item.isAsked,
            notesArrivals: false, trace: reconciler.dispatcher.trace)
        return try drain.run(item)
    }

    /// The items of the service that a module does not list, although their records name a sealed copy in the module.
    ///
    /// An interrupted removal leaves such an entry in a record. The vault would keep older keys as long as this entry
    /// exists.
    private func sealedItems(
        of service: String, in module: String, besides listed: Set<ItemName>
    ) throws(TokenKeepError) -> [ItemName] {
        guard let vault = try records.open() else { return [] }
        let machine = records.hash(of: records.machine)
        return try SealedRecords(vault).all().entries.filter { entry in
            entry.name.isIn(namespace: name.namespace, service: service) && !listed.contains(entry.name)
                && entry.copies.holders.contains { $0.module == module && $0.machine == machine }
        }.map(\.name)
    }
}

extension Reconciler {
    /// Makes the removal of a service pending for each deferrable module that could not list its items.
    ///
    /// - Parameter listing: the listing whose items the caller clears.
    /// - Returns: a failure of another kind or of another module; nil if the removal is now pending for every module
    ///   that failed.
    func deferRemoval(
        of service: String, in namespace: String, after listing: ItemListing, _ call: CallContext
    ) throws(TokenKeepError) -> TokenKeepError? {
        guard let problem = listing.problem, usesRecords else { return listing.problem }
        let call = call.withoutPrompts
        let isMissed = { (problem: TokenKeepError?) in problem.map { Decisions.isOutage($0.status) } ?? false }
        let missed = clearable(after: []).filter { module in
            guard (try? pending.wasUsed(module)) == true else { return false }
            guard !listing.problems.contains(where: { $0.module == module.name && isMissed($0) }) else { return true }
            do throws(TokenKeepError) {
                return isMissed(try module.list(namespace: namespace, service: service, call).problem)
            } catch {
                return isMissed(error)
            }
        }
        guard !missed.isEmpty else { return problem }
        do throws(TokenKeepError) {
            try ServiceRemoval(reconciler: self, name: ItemName(removalOf: service, in: namespace)).begin(
                in: missed, call)
        } catch {
            // The removal could not be recorded, so it is not pending, and the module's failure is returned.
            guard error.status == .busy || error.status == .cancelled else { return problem }
            throw error
        }
        return listing.problems.first { problem in
            !(isMissed(problem) && missed.contains { $0.name == problem.module })
        }
    }

    /// The names of a service's items whose own removal is pending in this stack.
    ///
    /// A listing does not contain these items, although another program may have saved such an item since. Unreadable
    /// records are ignored here, because the listing reports them.
    func removedItems(of service: String, in namespace: String) -> [ItemName] {
        guard usesRecords, let found = try? records.journal.pendingRecords() else { return [] }
        return found.records.values.filter { !$0.holdsValue && pending.govern($0) }.compactMap(\.name).filter { name in
            name.removedService == nil && name.isIn(namespace: namespace, service: service)
        }
    }

    /// The pending removal of all items of the item's service; nil if no such removal is pending for a module of this
    /// stack.
    func pendingRemoval(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> ServiceRemoval? {
        do throws(TokenKeepError) {
            guard pending.isPossible, try records.journal.mayHavePending() else { return nil }
            let removal = try ItemName(removalOf: name.service, in: name.namespace)
            return try governing(removal, call) == nil ? nil : ServiceRemoval(reconciler: self, name: removal)
        } catch {
            throw error.of(name)
        }
    }

    /// The names of the modules that count as having no item of this name, because the removal of the service is
    /// pending for them.
    func modulesToEmpty(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Set<String> {
        try pendingRemoval(of: name, call)?.modules(call) ?? []
    }

    /// Whether the removal of the service is pending for a module, so that the module must not receive the item now.
    func isToBeEmptied(
        _ module: any Module, of name: ItemName, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try modulesToEmpty(of: name, call).contains(module.name)
    }

    /// Drains the pending removal of all items of the service before one of these items changes.
    ///
    /// - Parameter isNeeded: whether the call fails if the removal stays pending.
    func drainRemoval(
        before name: ItemName, _ call: CallContext, isNeeded: Bool = false
    ) throws(TokenKeepError) {
        guard let removal = try pendingRemoval(of: name, call) else { return }
        do throws(TokenKeepError) {
            let outcome = try removal.drain((isNeeded ? call : call.leavingTime).withoutPrompts)
            guard isNeeded, let left = outcome.left.first else { return }
            throw outcome.obstacle
                ?? TokenKeepError(.unavailable, "\(removal.name) must leave \(left.module) first", module: left.module)
        } catch {
            guard isNeeded || error.status == .cancelled else { return }
            throw error
        }
    }

    /// Whether a module's item must not be listed, because the removal of the item's service is pending for the module.
    func isRemoved(_ item: ItemDetails, by found: PendingRecords) -> Bool {
        guard !found.records.isEmpty,
            let removal = try? ItemName(removalOf: item.name.service, in: item.name.namespace),
            let record = found.record(of: removal)
        else { return false }
        return pending.has(record.pending, for: item.module)
    }
}
