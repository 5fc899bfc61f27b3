import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Clears the item from every module. A module that misses the removal gets a pending removal.
    ///
    /// - Parameter version: if given, the clear happens only if a load finds the item with this version.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        if dispatcher.memory.item(name) != nil {
            // The caller sees the memory-only item: check its version. Clear the hidden item of the name too.
            _ = try dispatcher.memory.clear(name, ifVersion: version, call)
            _ = try clear(name, ifVersion: nil, call)
            return true
        }
        guard usesRecords else { return try dispatcher.clear(name, ifVersion: version, call) }
        if version != nil { try drainBeforeCondition(name, call) }
        var isVisited = false
        let cleared: Cleared
        do throws(TokenKeepError) {
            if try !records.exists() {
                isVisited = true
                if let wasThere = try clearWithoutRecords(name, ifVersion: version, call) { return wasThere }
            }
            var item = try records.begin(name, call.withoutPrompts)
            isVisited = true
            let change: JournalChange
            (change, cleared) = try clearing(
                item, ifVersion: version, call.withoutPrompts.sealing(with: item.sealer))
            try item.apply(change)
        } catch {
            guard !isVisited, version == nil, error.status != .busy, error.status != .cancelled else { throw error }
            return try clearWithoutJournal(name, because: error, call)
        }
        if let problem = cleared.problem { throw problem }
        if cleared.hasPending {
            let left = try? drain(name, call.withoutPrompts)
            if left?.isEmpty != true, call.promptsAllowed { try? prepareAndDrain(name, call) }
        }
        return cleared.wasThere
    }

    /// Clears without a journal, if no vault exists; nil if a module missed the removal, so that a vault must be made.
    private func clearWithoutRecords(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool? {
        do throws(TokenKeepError) {
            return try dispatcher.clear(name, ifVersion: version, passesOutages: false, call)
        } catch {
            guard version == nil, Reconciler.mayBePending(error) else { throw error }
            return nil
        }
    }

    /// Clears the item from the reachable modules if the journal failed: a sign-out removes as much as it can.
    ///
    /// Throws if the item may be left in a module or in a record.
    private func clearWithoutJournal(
        _ name: ItemName, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let wasThere = try dispatcher.clear(name, ifVersion: nil, passesOutages: false, call)
        // A load would still return an item whose record has pending changes.
        guard (try? records.mayHavePending()) == false else { throw problem }
        return wasThere
    }

    /// The outcome of a clear, returned after the change of the item's record is durable.
    private struct Cleared {
        var wasThere: Bool
        var hasPending = false
        /// The error that the clear throws although its pending removals were recorded.
        var problem: TokenKeepError?
    }

    /// Whether a module that failed with this error misses the removal, which then becomes pending.
    static func mayBePending(_ error: TokenKeepError) -> Bool {
        [.unavailable, .timedOut, .locked].contains(error.status)
    }

    private func prepareAndDrain(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        for module in pending.deferrable { try? module.prepare(call) }
        _ = try drainAsking(name, call)
    }

    private func clearing(
        _ item: borrowing ItemTransaction, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, Cleared) {
        switch item.entry {
        case .unreadable(let error):
            if version != nil { throw error }
            let looks = pending.look(at: clearable(after: []), item, call)
            let parts = pending.afterClear([], of: item, holders: used(clearable(after: [])), looks: looks)
            return (parts.isEmpty ? .remove : .tombstone(pending: parts), Cleared(wasThere: true, hasPending: true))
        case .record(let record) where pending.govern(record) || record.holdsValue && clearsRecords:
            if let version { try SaveRequest.check(version: version, of: item.name, present: record.openDetails()) }
            let known = record.pendingBeforeChange(item.keys)
            // Read the modules' values before `holders` is computed: a module that answers is marked as used.
            let looks = pending.look(at: clearable(after: known), item, call)
            let holders = used(clearable(after: known), known)
            let parts = pending.afterClear(known, of: item, holders: holders, looks: looks)
            note(
                .clear, item.name, record.holdsValue ? .ok : .notFound,
                parts.isEmpty ? "the vault loses it" : "the vault loses it, with pending removals")
            return (
                parts.isEmpty ? .remove : .tombstone(pending: parts),
                Cleared(wasThere: record.holdsValue, hasPending: true)
            )
        case .none, .record:
            return try visit(item, ifVersion: version, call)
        }
    }

    /// Forgets which values of the item the modules were known to hold, because no module has it any more.
    private func forgetHolders(of item: borrowing ItemTransaction) {
        for module in clearable(after: []) { item.forgetHolder(module.name) }
    }

    /// Whether the stack has a `clear` line for the vault.
    private var clearsRecords: Bool { dispatcher.places(for: .clear).contains { $0.module.holdsRecords } }

    /// The deferrable modules from which a clear removes the item: those with a `clear` line or a pending change.
    func clearable(after known: [PendingWrite]) -> [any Module] {
        let cleared = Set(dispatcher.places(for: .clear).map(\.module.name))
        return pending.deferrable.filter { module in
            cleared.contains(module.name) || pending.has(known, for: module.name)
        }
    }

    /// Those of the modules that may hold the item: modules ever used on this machine, or with a pending change.
    private func used(_ modules: [any Module], _ known: [PendingWrite] = []) -> [any Module] {
        modules.filter { (try? records.hasUsed($0.name)) != false || pending.has(known, for: $0.name) }
    }

    /// Clears the item from each module by the stack's `clear` lines. Called if no record answers for the item.
    ///
    /// If a deferrable module misses the removal, the clear goes on and the removal becomes pending, whatever the
    /// module's line says.
    private func visit(
        _ item: borrowing ItemTransaction, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, Cleared) {
        let name = item.name
        let record = item.entry.record
        let present = try version.map { (version) throws(TokenKeepError) in
            let present = try dispatcher.loadIfThere(name, call)?.details
            try SaveRequest.check(version: version, of: name, present: present)
            return present
        }
        var visit = ClearVisit(pending: pending, holder: present??.module, isRecorded: record?.details != nil)
        let walk = dispatcher.walk(.clear, name.description) { place throws(TokenKeepError) in
            // Another program may have changed the item since the check, so the module checks the version again.
            let version = place.module.name == visit.holder ? version : nil
            try visit.clear(name, in: place.module, ifVersion: version, call, dispatcher.trace)
            return Answered(value: ())
        }
        var cleared = Cleared(wasThere: visit.wasThere, problem: visit.cut ?? walk.failure)
        let known = record?.pending ?? []
        guard !visit.missed.isEmpty else {
            // Without a record, sync the removal all the same: an earlier removal may have been interrupted.
            let isNothing = record == nil && cleared.problem == nil
            if isNothing { forgetHolders(of: item) }
            return (isNothing ? .remove : .keep, cleared)
        }
        cleared.hasPending = true
        if cleared.problem == nil {
            let missed = Set(visit.missed.map(\.name))
            for module in clearable(after: []) where !missed.contains(module.name) { item.forgetHolder(module.name) }
        }
        let foreign = known.filter { !pending.isOurs($0) }
        return (.tombstone(pending: pending.afterClear(foreign, of: item, holders: visit.missed)), cleared)
    }
}

/// The progress of a clear that visits the modules.
private struct ClearVisit {
    let pending: PendingWrites
    /// The name of the module whose item has the version that the caller asked for.
    let holder: String?
    /// Whether the record holds an item of the vault. If so, it stays, and the record cannot hold pending removals.
    let isRecorded: Bool
    private(set) var wasThere = false
    private(set) var missed: [any Module] = []
    /// The caller's cancellation, recorded if a module may already have lost the item.
    private(set) var cut: TokenKeepError?

    init(pending: PendingWrites, holder: String?, isRecorded: Bool) {
        self.pending = pending
        self.holder = holder
        self.isRecorded = isRecorded
    }

    mutating func clear(
        _ name: ItemName, in module: any Module, ifVersion version: UInt64?, _ call: CallContext,
        _ trace: StackTraceHandler?
    ) throws(TokenKeepError) {
        guard !module.holdsRecords else { return }  // the vault holds the record
        let mayHavePending = module.supportsPendingWrites && !isRecorded
        // A clear must not stop halfway: if removals cannot become pending, ignore a cancellation.
        let call = !mayHavePending && (wasThere || !missed.isEmpty) ? call.withoutCancellation : call
        do throws(TokenKeepError) {
            wasThere = try module.clear(name, ifVersion: version, call) || wasThere
        } catch {
            guard mayHavePending, isPending(error, call) else { throw error }
            trace?(.aside(.clear, name, module, error.status, "its removal is pending"))
            if error.status == .cancelled { cut = error }
            if !missed.contains(where: { $0.name == module.name }) { missed.append(module) }
        }
    }

    /// Whether a failed removal becomes pending: the module missed it, or a clear was cancelled after it had begun.
    private func isPending(_ error: TokenKeepError, _ call: CallContext) -> Bool {
        guard error.status == .cancelled else { return Reconciler.mayBePending(error) }
        return call.deadline.isCancelled && (!error.changedNothing || wasThere || !missed.isEmpty)
    }
}
