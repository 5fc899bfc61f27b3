import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Saves the item in memory, or in the first module that a `save` line of the stack names.
    ///
    /// If the first module misses the value, the item's record keeps the value, and the write is pending.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        while true {
            if let item = dispatcher.memory.item(request.name) {
                if let outcome = try save(request, over: item, call) { return outcome }
            } else if request.accessLevel == .memoryOnly {
                if let outcome = try saveInMemory(request, call) { return outcome }
            } else {
                return try saveInModules(request, call)
            }
            // Another thread has saved or cleared a memory-only item of this name meanwhile, so the save begins again.
            guard !call.deadline.hasPassed else {
                throw call.deadline.failure("other threads change the memory-only item \(request.name) without a pause")
            }
        }
    }

    /// Saves the item in the stack's modules.
    ///
    /// If the first module has neither records nor pending writes (for example `memory`), the journal is not used.
    func saveInModules(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        guard let first = dispatcher.places(for: .save).first?.module,
            first.supportsPendingWrites || first.holdsRecords
        else { return try dispatcher.save(request, call) }
        guard call.promptsAllowed else { return try Saving(reconciler: self, first: first).run(request, call) }
        let saving = Saving(reconciler: self, first: first, mayAsk: true)
        do throws(TokenKeepError) {
            return try saving.asking(request, call)
        } catch {
            guard error.status == .locked, error.module != "vault" else { throw error }
        }
        try first.prepare(call)
        return try saving.asking(request, call)
    }
}

/// The save of one item in a stack whose first module is the vault or a deferrable module.
struct Saving {
    let reconciler: Reconciler
    /// The first module that a `save` line names.
    let first: any Module
    /// Whether a save in several steps may cause a prompt later, when its pending write is drained.
    var mayAsk = false

    private var dispatcher: Dispatcher { reconciler.dispatcher }
    private var pending: PendingWrites { reconciler.pending }
    private var records: Records { reconciler.records }

    /// The change that a save makes to the record, and its outcome before pending changes are drained.
    private struct Step {
        var change = JournalChange.keep
        var version: UInt64
        var pending: [PendingWrite] = []
        /// The name of the module that has the value after all pending changes are applied.
        var home: String
        /// Whether the value must be written into the record before it is sent to the first module, because this module
        /// saves in several steps.
        var isAhead = false
        /// The error of the caller's cancellation, which the save throws although the record has the value; nil if
        /// there is none.
        var cut: TokenKeepError?
    }

    /// Saves without prompts. If a write stays pending, drains it with prompts.
    fileprivate func asking(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        let outcome = try run(request, call.withoutPrompts)
        guard !outcome.pendingModules.isEmpty, (try? first.prepare(call)) != nil else { return outcome }
        // A prompt that fails does not fail the save, because the record has the value.
        guard let drained = try? reconciler.drainAsking(request.name, call) else { return outcome }
        return drained.left.isEmpty ? SaveOutcome(version: outcome.version, module: first.name) : outcome
    }

    fileprivate func run(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        if request.precondition != .none {
            try reconciler.drainBeforeCondition(request.name, call)
        } else {
            try reconciler.drainRemoval(before: request.name, call)
        }
        var progress = Decisions.Progress.unlocked
        let step: Step
        do throws(TokenKeepError) {
            step = try save(request, call, &progress)
        } catch {
            return try saveWithoutJournal(request, at: progress, because: error, call)
        }
        if let cut = step.cut { throw cut }
        let drained = step.pending.isEmpty ? nil : try? reconciler.draining(request.name, call)
        // If `version` is not nil, the module has the value. The write then stays in the record only until an older
        // item in another module is removed, so it does not count as missed.
        let left = drained?.version == nil ? drained?.left ?? step.pending : []
        let missed = left.filter { $0.kind == .write }.map(\.module)
        return SaveOutcome(
            version: drained?.version ?? step.version, module: missed.isEmpty ? step.home : "vault",
            pendingModules: missed)
    }

    /// Saves the item under the item's lock.
    private func save(
        _ request: SaveRequest, _ call: CallContext, _ progress: inout Decisions.Progress
    ) throws(TokenKeepError) -> Step {
        var item = try records.begin(request.name, call)
        progress = pending.state(of: item.entry) == .none ? .bare : .hidden
        let step = try step(item, request, call.sealing(with: item.sealer))
        if step.isAhead { progress = .ahead }
        try item.apply(step.change)
        return step
    }

    /// Saves the item without a record after the vault failed, if no record can hide the modules' items. Otherwise
    /// throws the vault's failure.
    private func saveWithoutJournal(
        _ request: SaveRequest, at progress: Decisions.Progress, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        let isQuiet = (try? records.journal.mayHavePending()) == false
        guard
            Decisions.unwritten(
                progress, isVaultFirst: first.holdsRecords, isIgnored: isIgnored(problem),
                isBusy: problem.status == .busy, isQuiet: isQuiet)
        else { throw problem }
        do throws(TokenKeepError) {
            return try dispatcher.save(request, call)
        } catch {
            // The module's outage would not matter if the vault could keep the change, so throw the vault's failure
            // instead of the module's.
            guard progress == .unlocked, error.status == .unavailable || error.status == .timedOut else { throw error }
            throw problem
        }
    }

    /// Whether the first module's `save` line ignores a failure. Always false for UNAVAILABLE and TIMED_OUT.
    private func isIgnored(_ error: TokenKeepError) -> Bool {
        dispatcher.operations[.save].first?.actions[error.status] == .ignore && error.status != .unavailable
            && error.status != .timedOut
    }

    private func step(
        _ item: borrowing ItemTransaction, _ request: SaveRequest, _ call: CallContext
    ) throws(TokenKeepError) -> Step {
        let record = item.entry.record
        let state = pending.state(of: item.entry)
        let isToBeEmptied = try reconciler.isToBeEmptied(first, of: request.name, call)
        var request = request
        var present: ItemDetails?
        var found: Dispatcher.Found?
        if state.holdsValue || state.governs {
            present = try record?.openDetails()
            if request.precondition != .none {
                found = try compared(request, item, state, call)
                request.precondition = .none
            }
        } else if state == .unreadable || isToBeEmptied {
            request = try inheriting(request, item)
            if isToBeEmptied, state != .unreadable { try request.check(present: nil) }
            if let problem = item.entry.problem { try inheritFromModule(&request, because: problem, call) }
        } else {
            // Check the precondition now: if the module misses the value, the value is written into the record without
            // another check.
            request = try dispatcher.completed(request, for: dispatcher.places(for: .save), call)
        }
        let place = place(for: request.details(replacing: present, module: "vault"))
        if place == .unfit, state != .unreadable { discoverItems(request.name, call) }
        let action = Decisions.saved(
            state, to: place, isToBeEmptied: isToBeEmptied, isConditional: request.precondition != .none)
        if action == .fail, let problem = item.entry.problem { throw problem }
        switch action {
        case .fail, .record: return try recording(request, over: record, present, item, call, after: found)
        case .recordUnlessLocked:
            if let locked = lock(of: item.name, call), case .fail = missed(request, locked, item, call) { throw locked }
            return try recording(request, over: record, present, item, call)
        case .send: return try sending(request, over: record, item, call)
        }
    }

    /// Compares the save's condition with the item that a load returns.
    private func compared(
        _ request: SaveRequest, _ item: borrowing ItemTransaction, _ state: ItemState, _ call: CallContext
    ) throws(TokenKeepError) -> Dispatcher.Found {
        let found = try reconciler.present(item, state, call)
        do throws(TokenKeepError) {
            try request.check(present: found.details)
        } catch {
            throw error.inModule(found.details?.module ?? "vault")
        }
        return found
    }

    /// Loads the item from the first module, and returns the module's ``Status/locked`` error; nil if the module is not
    /// locked.
    private func lock(of name: ItemName, _ call: CallContext) -> TokenKeepError? {
        guard first.mayAnswer else { return nil }
        do throws(TokenKeepError) {
            _ = try first.load(name, call.withoutPrompts)
            return nil
        } catch {
            // LOCKED from the vault means that the key of a sealed item is locked, not the module itself.
            return error.status == .locked && error.module != "vault" ? error.inModule(first.name) : nil
        }
    }

    /// Loads the item from every deferrable module that was never used. A module that has the item is then marked as
    /// used.
    ///
    /// Another program may have saved the item in such a module. A load would find that item before the vault's item,
    /// so the save must remove it.
    private func discoverItems(_ name: ItemName, _ call: CallContext) {
        for module in pending.deferrable where (try? records.journal.hasUsed(module.name)) == false {
            _ = try? module.load(name, call.withoutPrompts)
        }
    }

    /// Sends the value to the first module. If it is uncertain whether the module saved the value, writes it into the
    /// record, too.
    private func sending(
        _ request: SaveRequest, over record: JournalRecord?, _ item: borrowing ItemTransaction, _ call: CallContext
    ) throws(TokenKeepError) -> Step {
        // Record the fingerprint before the value is sent. If this process is killed now, the request may reach the
        // module after another process's save. From the fingerprint, a drain then recognizes the value as older.
        let before = item.holder(first.name)
        let fingerprint = item.keys.fingerprint(of: request.secret)
        item.noteSending(fingerprint, to: first.name)
        do throws(TokenKeepError) {
            let step = try send(request, over: record, item, call)
            guard !step.isAhead else { return step }
            // The module has saved this value, so no value that was sent earlier can still arrive.
            item.noteArrival(fingerprint, in: first.name)
            // If the removal of the service has become pending meanwhile, its drain would also remove the value saved
            // here.
            let mayBeRemoved = try reconciler.isToBeEmptied(first, of: request.name, call)
            guard try removeCopies(of: request.name, call), !mayBeRemoved else {
                return try recording(request, over: record, nil, item, call, wasSent: true)
            }
            return step
        } catch {
            if error.changedNothing { item.noteHolder(before, first.name) }
            let missed = missed(request, error, item, call)
            guard missed != .fail else { throw error }
            var step = try recording(inheriting(request, item), over: record, nil, item, call, wasSent: true)
            if missed == .recordAndFail { step.cut = error }
            return step
        }
    }

    private func missed(
        _ request: SaveRequest, _ error: TokenKeepError, _ item: borrowing ItemTransaction, _ call: CallContext
    ) -> Decisions.Missed {
        let isOfFirst = error.module == first.name
        return Decisions.missed(
            Decisions.Miss(
                status: error.status, isFinal: dispatcher.operations[.save].first?.actions[error.status] == .die,
                // If the line ignores the failure, the write becomes pending, too, because a load would otherwise find
                // the older value.
                isIgnored: isOfFirst && isIgnored(error),
                // The module may save the value after the cancellation. Without a record, this late value would replace
                // the value of a newer save.
                isCut: error.status == .cancelled && call.deadline.isCancelled && !error.changedNothing,
                mayWait: isOfFirst && error.status == .locked && mayWait(request, item)))
    }

    /// Whether the record may keep the value that a locked first module missed.
    private func mayWait(_ request: SaveRequest, _ item: borrowing ItemTransaction) -> Bool {
        guard request.keepsWhenLocked, first.supportsPendingWrites else { return false }
        let request = (try? inheriting(request, item)) ?? request
        return item.sealsWithPassword(request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock)
    }

    /// Sends the value to the first module. If this module needs several steps, sends nothing and returns the change of
    /// the record that must come first.
    private func send(
        _ request: SaveRequest, over record: JournalRecord?, _ item: borrowing ItemTransaction, _ call: CallContext
    ) throws(TokenKeepError) -> Step {
        let reason = "it is the first that takes items"
        let version = try dispatcher.trace.asking(first, to: .save, request.name, because: reason) {
            () throws(TokenKeepError) in try first.saveAtOnce(request, call.allowingPrompts(mayAsk))
        }
        if let version { return Step(version: version, home: first.name) }
        do throws(TokenKeepError) {
            var request = request
            let present = try present(&request, item, call)
            try request.check(present: present?.details)
            let keys = item.keys
            let looks = present.map { [first.name: Optional(keys.fingerprint(of: $0.secret))] }
            var step = try recording(request, over: record, present?.details, item, call, looks: looks)
            step.isAhead = true
            return step
        } catch {
            // A drain reads the module's item before it replaces the item, so a drain could never replace this
            // unreadable item. It is replaced directly below.
            guard error.status == .corrupt else {
                var error = error
                error.changedNothing = true
                throw error
            }
        }
        let written = try dispatcher.trace.asking(first, to: .save, request.name, because: reason) {
            () throws(TokenKeepError) in try first.save(request, call)
        }
        return Step(version: written, home: first.name)
    }

    /// The first module's item, which the save replaces; nil if the module does not have the item.
    ///
    /// Also nil for a sealed item whose key is locked, if the request names a level and has no precondition.
    private func present(
        _ request: inout SaveRequest, _ item: borrowing ItemTransaction, _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try first.loadIfThere(request.name, call)
        } catch {
            let isSealed = error.status == .locked && error.module == "vault"
            guard isSealed, request.precondition == .none, request.accessLevel != nil else { throw error }
            request = try inheriting(request, item)
            return nil
        }
    }

    /// Removes older copies of an item from the other modules for which the stack has a `clear` line.
    ///
    /// - Returns: false if a copy could not be removed, so that its removal must become pending.
    private func removeCopies(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let others = dispatcher.places(for: .clear).map(\.module)
        var isComplete = true
        for other in reconciler.holders() + others.filter({ !$0.supportsPendingWrites && !$0.holdsRecords })
        where other.name != first.name {
            do throws(TokenKeepError) {
                try dispatcher.trace.asking(other, to: .clear, name, because: "an older copy goes") {
                    () throws(TokenKeepError) in try other.clearOwn(name, call.withoutPrompts)
                }
            } catch {
                guard other.supportsPendingWrites else { throw error }
                isComplete = false
            }
        }
        return isComplete
    }

    private var requirements: ProtectionRequirements {
        ProtectionRequirements(dispatcher: dispatcher, sealer: VaultSealer(records))
    }

    /// The kind of the first module: the vault, or a module that meets or does not meet an item's protection
    /// requirement.
    private func place(for details: ItemDetails) -> Decisions.First {
        if first.holdsRecords { return .vault }
        return requirements.areMet(by: first, details.accessLevel, details.flags) ? .fit : .unfit
    }

    /// Completes a save request with the last known level of the item, because the first module cannot be asked now.
    ///
    /// The level is read from the record if the record lists sealed copies; otherwise it is the level of the item that
    /// this process last saw in the module.
    private func inheriting(
        _ request: SaveRequest, _ item: borrowing ItemTransaction
    ) throws(TokenKeepError) -> SaveRequest {
        guard request.inherited == nil else { return request }
        var request = request
        request.inherited =
            try item.sealedDetails()
            ?? (first as? any RememberingModule)?.lastSeen(request.name)?.details
        return request
    }

    /// Completes a save over an unreadable record with the level of the first module's item.
    ///
    /// - Throws: `problem`, the error of reading the record, if the module's item cannot be loaded.
    private func inheritFromModule(
        _ request: inout SaveRequest, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) {
        guard first.supportsPendingWrites, call.sealer?.mayHaveSealed == true else { return }
        do throws(TokenKeepError) {
            request.inherited = try first.loadIfThere(request.name, call)?.details
        } catch {
            throw problem
        }
    }

    /// Makes the record's change for a save: the new value, and the pending writes and removals that result.
    ///
    /// - Parameters:
    ///   - wasSent: whether the first module may already have received the value.
    ///   - looks: the modules' present values, if the caller knows them; nil to load them.
    ///   - found: the item with which the save's condition was compared.
    private func recording(
        _ request: SaveRequest, over record: JournalRecord?, _ present: ItemDetails?, _ item: borrowing ItemTransaction,
        _ call: CallContext, wasSent: Bool = false, looks: PendingWrites.Looks? = nil,
        after found: Dispatcher.Found? = nil
    ) throws(TokenKeepError) -> Step {
        if record != nil, !wasSent {
            do throws(TokenKeepError) { try request.check(present: present) } catch { throw error.inModule("vault") }
        }
        var details = request.details(replacing: present, module: "vault")
        if first.supportsPendingWrites, record.map(pending.govern) != true {
            try details.checkLowersNothing(of: request.inherited, module: first.name)
            try details.checkLowersNothing(of: item.sealedDetails(), module: first.name)
        }
        details.version = item.keys.versions.version(of: details, secret: request.secret)
        let known = record?.pendingBeforeChange(item.keys) ?? []
        var isKept = place(for: details) != .unfit
        let holders = reconciler.holders(after: known).filter { !isKept || $0.name != first.name }
        let asked = isKept && first.supportsPendingWrites ? [first] : []
        let looks = looks ?? (wasSent ? [:] : pending.look(at: holders + asked, item, call, after: found))
        // Check this after `look(at:)`, because a module that answers `look(at:)` is marked as used.
        if isKept, first.supportsPendingWrites, !pending.has(known, for: first.name) { isKept = try !isNeverUsed() }
        guard isKept || requirements.hasVault else {
            throw TokenKeepError(
                .policy, "\(first.name) cannot meet the protection requirement of \(request.name)", module: first.name,
                hint: "use a stack that ends with the vault: any required vault")
        }
        let target = first.supportsPendingWrites && isKept ? first : nil
        var parts = pending.afterSave(known, of: item, to: target, holders: holders, looks: looks)
        for index in parts.indices where wasSent && pending.isOurs(parts[index]) && parts[index].kind == .write {
            parts[index] = parts[index].sending(item.keys.fingerprint(of: request.secret))
        }
        let words = parts.isEmpty ? "the vault keeps it" : "the vault keeps it, with pending writes"
        reconciler.addToTrace(.save, request.name, .ok, words)
        return Step(
            change: .parts(value: TokenItem(details: details, secret: request.secret), pending: parts),
            version: details.version, pending: parts.filter(pending.isOurs), home: target?.name ?? "vault")
    }

    /// Whether the first module was never used on this machine, and the stack both saves in the vault and loads from
    /// it.
    ///
    /// If true, the vault keeps the item, because the write would stay pending forever on a machine that does not have
    /// the module.
    private func isNeverUsed() throws(TokenKeepError) -> Bool {
        guard [.save, .load].allSatisfy({ dispatcher.places(for: $0).contains { $0.module.holdsRecords } }) else {
            return false
        }
        return try !pending.wasUsed(first)
    }
}
