import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Clears the item everywhere. A module that misses the removal gets a pending removal.
    ///
    /// - Parameter version: if given, the clear happens only if a load finds the item with this version.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        if dispatcher.memory.item(name) != nil {
            // The caller sees the memory-only item, so its version is checked. The hidden item of that name is cleared
            // too.
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

    /// Clears without records, if no vault exists yet; nil if a module missed the removal, so that a vault is needed.
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

    /// Clears the reachable modules although the journal failed, so that a sign-out removes as much as possible.
    ///
    /// The call fails if any item may be left.
    private func clearWithoutJournal(
        _ name: ItemName, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let wasThere = try dispatcher.clear(name, ifVersion: nil, passesOutages: false, call)
        // A record that governs would still answer a load.
        guard (try? records.mayHavePending()) == false else { throw problem }
        return wasThere
    }

    /// The outcome of a clear, returned after the record's change is durable.
    private struct Cleared {
        var wasThere: Bool
        var hasPending = false
        /// The error to throw although the clear was recorded.
        var problem: TokenKeepError?
    }

    /// Whether a module that failed with this error missed the removal, so that the removal becomes pending.
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
            // A module that answers the look counts as used.
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

    /// Forgets the known values of every module, because the item is gone from all of them.
    private func forgetHolders(of item: borrowing ItemTransaction) {
        for module in clearable(after: []) { item.forgetHolder(module.name) }
    }

    /// Whether a line of the stack clears the vault's items.
    private var clearsRecords: Bool { dispatcher.places(for: .clear).contains { $0.module.holdsRecords } }

    /// The deferrable modules that lose a cleared item: modules with a `clear` line, and modules with a pending change.
    func clearable(after known: [PendingWrite]) -> [any Module] {
        let cleared = Set(dispatcher.places(for: .clear).map(\.module.name))
        return pending.deferrable.filter { module in
            cleared.contains(module.name) || pending.has(known, for: module.name)
        }
    }

    /// The modules that may hold an item: those ever used on this machine, and those with a pending change.
    private func used(_ modules: [any Module], _ known: [PendingWrite] = []) -> [any Module] {
        modules.filter { (try? records.hasUsed($0.name)) != false || pending.has(known, for: $0.name) }
    }

    /// Clears in each module, as the stack's lines for `clear` say, if no record governs.
    ///
    /// A deferrable module that misses the removal counts as cleared and gets a pending removal, whatever its line says
    /// about the failure.
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
            // A removal of nothing is made durable too, because an earlier removal may have been interrupted.
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

/// The progress of a clear through the modules.
private struct ClearVisit {
    let pending: PendingWrites
    /// The module whose item has the requested version.
    let holder: String?
    /// Whether the record holds an item of the vault that stays: then no removal can be pending.
    let isRecorded: Bool
    private(set) var wasThere = false
    private(set) var missed: [any Module] = []
    /// The caller's cancellation, if a module may already have lost the item.
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
        // A clear must not stop halfway: without pending removals, the rest is done despite a cancellation.
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

    /// Whether a failed removal becomes pending: the module missed it, or a cancelled clear has already begun.
    private func isPending(_ error: TokenKeepError, _ call: CallContext) -> Bool {
        guard error.status == .cancelled else { return Reconciler.mayBePending(error) }
        return call.deadline.isCancelled && (!error.changedNothing || wasThere || !missed.isEmpty)
    }
}
