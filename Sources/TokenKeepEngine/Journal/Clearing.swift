import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Clears the item from every module. If a module misses the removal, the removal becomes pending for the module.
    ///
    /// - Parameter version: the version that the item must have; nil clears any version.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        guard dispatcher.memory.item(name) == nil else { return try clearInMemory(name, ifVersion: version, call) }
        return try clearInModules(name, ifVersion: version, call)
    }

    /// Clears the item from the stack's modules, even if memory has an item of this name.
    func clearInModules(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        guard usesRecords else { return try dispatcher.clear(name, ifVersion: version, call) }
        if version != nil { try drainBeforeCondition(name, call) }
        return try Clearing(reconciler: self, version: version).run(name, call)
    }

    /// The deferrable modules from which a clear removes the item: those with a `clear` line or a pending change.
    func clearable(after known: [PendingWrite]) -> [any Module] {
        let cleared = Set(dispatcher.places(for: .clear).map(\.module.name))
        return pending.deferrable.filter { module in
            cleared.contains(module.name) || pending.has(known, for: module.name)
        }
    }

    /// The clearable modules that may hold the item: modules used on this machine, or with a pending change.
    func holders(after known: [PendingWrite] = []) -> [any Module] {
        clearable(after: known).filter {
            (try? pending.wasUsed($0)) != false || pending.has(known, for: $0.name)
        }
    }
}

/// The clear of one item in a stack that uses records.
private struct Clearing {
    let reconciler: Reconciler
    /// The version that the item must have; nil for any version.
    let version: UInt64?

    private var dispatcher: Dispatcher { reconciler.dispatcher }
    private var pending: PendingWrites { reconciler.pending }
    private var records: Records { reconciler.records }

    /// The change that a clear makes to the record, and the result that the clear returns after this change.
    private struct Step {
        var change: JournalChange
        var wasThere: Bool
        var hasPending = false
        /// The error that the clear throws after its pending removals are recorded; nil if the clear succeeds.
        var problem: TokenKeepError?
    }

    func run(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        var isVisited = false
        let step: Step
        do throws(TokenKeepError) {
            if try !records.exists() {
                isVisited = true
                if let wasThere = try clearWithoutRecords(name, call) { return wasThere }
            }
            var item = try records.begin(name, call.withoutPrompts)
            isVisited = true
            step = try self.step(item, call.withoutPrompts.sealing(with: item.sealer))
            try item.apply(step.change)
        } catch {
            guard !isVisited, version == nil, error.status != .busy, error.status != .cancelled else { throw error }
            return try clearWithoutJournal(name, because: error, call)
        }
        if let problem = step.problem { throw problem }
        if step.hasPending { drain(name, call) }
        return step.wasThere
    }

    /// Drains the item's removals. If a removal stays pending and prompts are allowed, drains again with prompts.
    private func drain(_ name: ItemName, _ call: CallContext) {
        let drained = try? reconciler.draining(name, call.withoutPrompts)
        guard drained?.left.isEmpty != true, call.promptsAllowed else { return }
        for module in pending.deferrable { try? module.prepare(call) }
        _ = try? reconciler.drainAsking(name, call)
    }

    /// Clears the item from the modules while no vault exists.
    ///
    /// - Returns: whether the item existed; nil if a module missed the removal, so that a vault must be created to
    ///   record it.
    private func clearWithoutRecords(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool? {
        do throws(TokenKeepError) {
            return try dispatcher.clear(name, ifVersion: version, passesOutages: false, call)
        } catch {
            guard version == nil, Decisions.isOutage(error.status) else { throw error }
            return nil
        }
    }

    /// Clears the item from the modules that answer, after the journal failed. A sign-out must remove as much as it
    /// can.
    ///
    /// - Throws: an error if the item may be left in a module or in a record.
    private func clearWithoutJournal(
        _ name: ItemName, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let wasThere = try dispatcher.clear(name, ifVersion: nil, passesOutages: false, call)
        // If a record has pending changes, it may be the item's record, and a load would still return the item from it.
        guard (try? records.journal.mayHavePending()) == false else { throw problem }
        return wasThere
    }

    private func step(_ item: borrowing ItemTransaction, _ call: CallContext) throws(TokenKeepError) -> Step {
        let clearsVault = dispatcher.places(for: .clear).contains { $0.module.holdsRecords }
        let state = pending.state(of: item.entry)
        let action = Decisions.cleared(state, clearsVault: clearsVault, isConditional: version != nil)
        if action == .fail, let problem = item.entry.problem { throw problem }
        return try action == .visit ? visit(item, call) : recording(item, state, call)
    }

    /// Makes the record's change for a clear: a pending removal for each module that may hold the item.
    private func recording(
        _ item: borrowing ItemTransaction, _ state: ItemState, _ call: CallContext
    ) throws(TokenKeepError) -> Step {
        let record = item.entry.record
        let present = try version.map { (version) throws(TokenKeepError) in
            let present = try reconciler.present(item, state, call)
            try SaveRequest.check(version: version, of: item.name, present: present.details)
            return present
        }
        let known = record?.pendingBeforeChange(item.keys) ?? []
        // `look(at:)` comes before `holders(after:)`, because a module that answers `look(at:)` is marked as used, and
        // then counts as a holder.
        let looks = pending.look(at: reconciler.clearable(after: known), item, call, after: present)
        let holders = reconciler.holders(after: known)
        let parts = pending.afterClear(known, of: item, holders: holders, looks: looks)
        reconciler.addToTrace(
            .clear, item.name, state == .removing ? .notFound : .ok,
            parts.isEmpty ? "the vault loses it" : "the vault loses it, with pending removals")
        return Step(
            change: .cleared(pending: parts), wasThere: state != .removing, hasPending: !parts.isEmpty)
    }

    /// Clears the item from each module by the stack's `clear` lines. Called if the item's record does not govern.
    ///
    /// If a deferrable module misses the removal, the removal becomes pending and the clear continues, whatever the
    /// module's `clear` line says.
    private func visit(_ item: borrowing ItemTransaction, _ call: CallContext) throws(TokenKeepError) -> Step {
        let name = item.name
        let record = item.entry.record
        let present = try version.map { (version) throws(TokenKeepError) in
            let present = try dispatcher.findForCondition(name, call).details
            try SaveRequest.check(version: version, of: name, present: present)
            return present
        }
        var visit = ClearVisit(mayRecord: record?.details == nil)
        let walk = dispatcher.walk(.clear, name.description) { place throws(TokenKeepError) in
            // Another program may have changed the item since the check, so the module checks the version again.
            let version = place.module.name == present??.module ? version : nil
            try visit.clear(name, in: place.module, ifVersion: version, call, dispatcher.trace)
            return Answered(value: ())
        }
        var step = Step(change: .keep, wasThere: visit.wasThere, problem: visit.cut ?? walk.failure)
        let missed = visit.missed
        // The removal is synced even if there is no record, because an earlier clear may have been interrupted before
        // its sync.
        if missed.isEmpty, record == nil, step.problem == nil { step.change = .remove }
        if step.problem == nil, !missed.isEmpty || record == nil {
            for module in reconciler.clearable(after: []) where !missed.contains(module.name) {
                item.forgetHolder(module.name)
            }
        }
        guard !missed.isEmpty else { return step }
        step.hasPending = true
        let elsewhere = (record?.pending ?? []).filter { !pending.isOurs($0) }
        let holders = pending.deferrable.filter { missed.contains($0.name) }
        step.change = .cleared(pending: pending.afterClear(elsewhere, of: item, holders: holders))
        return step
    }
}

/// The progress of the clear of one item, which removes the item from one module after another.
private struct ClearVisit {
    /// Whether pending removals may be written into the record. False if the record has a value, which would be lost.
    let mayRecord: Bool
    private(set) var wasThere = false
    /// The names of the modules that missed the removal.
    private(set) var missed: Set<String> = []
    /// The error of a cancellation by the caller after a module may have removed the item; nil if there is none. The
    /// clear throws this error after the removals have become pending.
    private(set) var cut: TokenKeepError?

    mutating func clear(
        _ name: ItemName, in module: any Module, ifVersion version: UInt64?, _ call: CallContext,
        _ trace: StackTraceHandler?
    ) throws(TokenKeepError) {
        guard !module.holdsRecords else { return }  // the vault's item is the record itself
        let isRecordable = module.supportsPendingWrites && mayRecord
        let hasBegun = wasThere || !missed.isEmpty
        // A clear must not end halfway, so a cancellation is ignored if this module's removal cannot become pending.
        let call = !isRecordable && hasBegun ? call.withoutCancellation : call
        do throws(TokenKeepError) {
            wasThere = try module.clear(name, ifVersion: version, call) || wasThere
        } catch {
            let isCut = call.deadline.isCancelled && (!error.changedNothing || hasBegun)
            guard Decisions.missedClear(error.status, isRecordable: isRecordable, isCut: isCut) else { throw error }
            trace?(.aside(.clear, name, module, error.status, "its removal is pending"))
            if error.status == .cancelled { cut = error }
            missed.insert(module.name)
        }
    }
}
