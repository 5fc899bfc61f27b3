import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Saves the item in the first module that a `save` line of the stack names.
    ///
    /// If that module misses the value, the journal keeps the value as a pending write.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        try dispatcher.save(request, call) { request, call throws(TokenKeepError) in
            guard let top = dispatcher.places(for: .save).first?.module, top.supportsPendingWrites || top.holdsRecords
            else {
                return try dispatcher.saveInPlaces(request, call)
            }
            guard call.promptsAllowed else { return try save(request, first: top, call) }
            do throws(TokenKeepError) {
                return try saveAsking(request, first: top, call)
            } catch {
                guard error.status == .locked, error.module != "vault" else { throw error }
            }
            try top.prepare(call)
            return try saveAsking(request, first: top, call)
        }
    }

    /// Saves without prompts. If the save leaves a pending write, applies the write with prompts.
    private func saveAsking(
        _ request: SaveRequest, first top: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        let outcome = try save(request, first: top, call.withoutPrompts, mayAsk: true)
        guard !outcome.pendingModules.isEmpty, (try? top.prepare(call)) != nil else { return outcome }
        // A failed prompt does not fail the save, because the record has the value.
        guard let settled = try? drainAsking(request.name, call) else { return outcome }
        return settled.left.isEmpty ? SaveOutcome(version: outcome.version, module: top.name) : outcome
    }

    private enum Step {
        /// The module has the value, and no record was needed.
        case sent(version: UInt64)
        /// The record has the value, possibly with pending writes.
        case recorded(version: UInt64, pending: [PendingWrite], home: String)
        /// The record has the value until a reachable module, which needs several steps, has saved it.
        case ahead(version: UInt64, pending: [PendingWrite], home: String)
        /// The call was cancelled when the module might already have the value; the record has the value now.
        case cut(TokenKeepError)
    }

    private func save(
        _ request: SaveRequest, first top: any Module, _ call: CallContext, mayAsk: Bool = false
    ) throws(TokenKeepError) -> SaveOutcome {
        var attempt = Attempt()
        let step: Step
        if request.precondition != .none {
            try drainBeforeCondition(request.name, call)
        } else {
            try drainRemoval(before: request.name, call)
        }
        do throws(TokenKeepError) {
            step = try save(request, first: top, call, mayAsk: mayAsk, &attempt)
        } catch {
            // Writing the record failed, but the module is reachable: save in the modules without a record.
            if attempt.isAhead { return try dispatcher.saveInPlaces(request, call) }
            // Without a journal, no write can become pending, so no module is skipped. The exception is a vault without
            // a value of the item, if its line of the stack ignores the failure.
            let isPassed = attempt.hasJournal && attempt.isBare && top.holdsRecords && mayPass(top, error)
            guard !attempt.hasJournal || isPassed, error.status != .busy, !top.holdsRecords || isPassed else {
                throw error
            }
            // Give up if a record may have pending changes, which would hide the items that the modules save.
            guard attempt.hasJournal || (try? records.mayHavePending()) == false else { throw error }
            return try saveWithoutJournal(request, because: isPassed ? nil : error, call)
        }
        switch step {
        case .sent(let version): return SaveOutcome(version: version, module: top.name)
        case .recorded(let version, let parts, let home), .ahead(let version, let parts, let home):
            let drained = parts.isEmpty ? nil : try? draining(request.name, call)
            let left = drained?.left ?? parts
            // The record may list a module that has saved the value, while another module must still remove its item.
            let missed = drained?.version == nil ? left.filter { $0.kind == .write }.map(\.module) : []
            let holder = missed.isEmpty ? home : "vault"
            return SaveOutcome(version: drained?.version ?? version, module: holder, pendingModules: missed)
        case .cut(let error): throw error
        }
    }

    /// The progress of a save, which decides what to do if the save fails.
    private struct Attempt {
        /// Whether this process locked the item in the vault.
        var hasJournal = false
        /// Whether a load reads the item from the modules, because no record hides them.
        var isBare = false
        /// Whether the record must hold the value first, because the module needs several steps to save the item.
        var isAhead = false
    }

    /// Saves the item under the item's lock in the vault.
    private func save(
        _ request: SaveRequest, first top: any Module, _ call: CallContext, mayAsk: Bool, _ attempt: inout Attempt
    ) throws(TokenKeepError) -> Step {
        var item = try records.begin(request.name, call)
        attempt.hasJournal = true
        attempt.isBare = isHidingNothing(item.entry)
        let (change, step) = try change(
            item, by: request, first: top, call.sealing(with: item.sealer), mayAsk: mayAsk)
        if case .ahead = step { attempt.isAhead = true }
        try item.apply(change)
        return step
    }

    /// Whether a load sees the modules' items, because the item's record hides none.
    private func isHidingNothing(_ entry: JournalEntry) -> Bool {
        switch entry {
        case .none: true
        case .record(let record): !hides(record)
        case .unreadable: false
        }
    }

    /// Whether a load returns the record's value instead of the modules' items.
    private func hides(_ record: JournalRecord) -> Bool { pending.govern(record) || record.holdsValue }

    /// Saves in the modules, because the journal failed. If none is reachable, throws the journal's error.
    private func saveWithoutJournal(
        _ request: SaveRequest, because problem: TokenKeepError?, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        do throws(TokenKeepError) {
            return try dispatcher.saveInPlaces(request, call)
        } catch {
            guard let problem, error.status == .unavailable || error.status == .timedOut else { throw error }
            throw problem
        }
    }

    /// Whether the first module's line ignores this failure, which must not be an outage.
    private func mayPass(_ top: any Module, _ error: TokenKeepError) -> Bool {
        dispatcher.programs[.save].first?.actions[error.status] == .ignore && error.status != .unavailable
            && error.status != .timedOut
    }

    private func change(
        _ item: borrowing ItemTransaction, by request: SaveRequest, first top: any Module, _ call: CallContext,
        mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if case .unreadable(let error) = item.entry, request.precondition != .none { throw error }
        let record = item.entry.record
        if let record, hides(record) {
            let present = try record.openDetails()
            let details = request.details(replacing: present, module: "vault")
            if !top.holdsRecords, !canStore(top, details.accessLevel, details.flags) {
                discoverItems(request.name, call)
            }
            return try recording(request, over: record, present, first: top, item, call)
        }
        if case .unreadable = item.entry {
            return try recording(inheriting(request, from: top), over: nil, nil, first: top, item, call)
        }
        if try isToBeEmptied(top, of: request.name, call) {
            return try recording(inheriting(request, from: top), over: record, nil, first: top, item, call)
        }
        // The precondition holds from here on: if the module fails later, the record saves the item.
        let request = try dispatcher.completed(request, for: dispatcher.places(for: .save), call)
        let level = request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock
        if top.holdsRecords || !canStore(top, level, request.flags) {
            if !top.holdsRecords { discoverItems(request.name, call) }
            return try recording(request, over: record, nil, first: top, item, call)
        }
        return try sendNoted(request, over: record, first: top, item, call, mayAsk: mayAsk)
    }

    /// Loads the item from deferrable modules that were never used. A module that has the item is then marked as used.
    ///
    /// Another program may have saved the item in such a module. A load would find that item before the vault's, so the
    /// save must remove it.
    private func discoverItems(_ name: ItemName, _ call: CallContext) {
        for module in pending.deferrable where (try? records.hasUsed(module.name)) == false {
            _ = try? module.load(name, call.withoutPrompts)
        }
    }

    /// Sends the value to the module. If the module may save it after the call failed, writes it into the record too.
    private func sendNoted(
        _ request: SaveRequest, over record: JournalRecord?, first top: any Module, _ item: borrowing ItemTransaction,
        _ call: CallContext, mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        // Note the fingerprint first: if this process is killed, the value may arrive after another process's save, and
        // must then be known as older.
        let before = item.holder(top.name)
        let fingerprint = item.keys.fingerprint(of: request.secret)
        item.noteSending(fingerprint, to: top.name)
        do throws(TokenKeepError) {
            let (change, step) = try send(request, over: record, first: top, item, call, mayAsk: mayAsk)
            guard case .sent = step else { return (change, step) }
            // The module has saved this value, so every value sent before has arrived too.
            item.noteArrival(fingerprint, in: top.name)
            // A removal of the service that became pending meanwhile would take the value with it.
            let mayBeRemoved = try isToBeEmptied(top, of: request.name, call)
            guard try removeCopies(of: request.name, except: top, call), !mayBeRemoved else {
                return try recording(request, over: record, nil, first: top, item, call, wasSent: true)
            }
            return (change, step)
        } catch {
            let isOutage = error.status == .unavailable || error.status == .timedOut
            // The module may still save the value. Without a record, it would then replace a newer save.
            let isCut = error.status == .cancelled && call.deadline.isCancelled && !error.changedNothing
            guard
                isOutage && !mustStop(at: top, error) || isCut || mayBeRecorded(past: top, error)
                    || isKeptLocked(request, top, error, item)
            else {
                if error.changedNothing {
                    item.noteHolder(before, top.name)
                }
                throw error
            }
            if error.changedNothing { item.noteHolder(before, top.name) }
            let request = try inheriting(request, from: top)
            let (change, step) = try recording(request, over: record, nil, first: top, item, call, wasSent: true)
            return (change, isCut ? .cut(error) : step)
        }
    }

    /// Whether a value that the first module does not take because it is locked waits in the record.
    private func isKeptLocked(
        _ request: SaveRequest, _ top: any Module, _ error: TokenKeepError, _ item: borrowing ItemTransaction
    ) -> Bool {
        guard request.keepsWhenLocked, error.status == .locked, error.module == top.name, top.supportsPendingWrites
        else { return false }
        let request = (try? inheriting(request, from: top)) ?? request
        return item.sealsWithPassword(request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock)
    }

    /// Whether a module was never used on this machine, and the vault takes the stack's items.
    ///
    /// A machine without such a service must not collect pending writes for the service.
    private func isNeverUsed(_ module: any Module) throws(TokenKeepError) -> Bool {
        guard [.save, .load].allSatisfy({ dispatcher.places(for: $0).contains { $0.module.holdsRecords } }) else {
            return false
        }
        return try !records.hasUsed(module.name)
    }

    /// Removes older copies of an item from the other modules that have a `clear` line.
    ///
    /// - Returns: false if a copy could not be removed, so that its removal must become pending.
    private func removeCopies(
        of name: ItemName, except top: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        var others = try modulesToClear(after: [], to: top)
        others += dispatcher.places(for: .clear).map(\.module).filter { !$0.supportsPendingWrites && !$0.holdsRecords }
        var isComplete = true
        for other in others {
            do throws(TokenKeepError) {
                try ask(other, to: .clear, name, because: "an older copy goes") { () throws(TokenKeepError) in
                    try other.clearOwn(name, call.withoutPrompts)
                }
            } catch {
                guard other.supportsPendingWrites else { throw error }
                isComplete = false
            }
        }
        return isComplete
    }

    /// The deferrable modules that must lose their item when the item is saved in `top`.
    private func modulesToClear(after known: [PendingWrite], to top: (any Module)?) throws(TokenKeepError)
        -> [any Module]
    {
        var modulesToClear: [any Module] = []
        for module in clearable(after: known) where module.name != top?.name {
            let isUsed = try records.hasUsed(module.name)
            if isUsed || pending.has(known, for: module.name) { modulesToClear.append(module) }
        }
        return modulesToClear
    }

    /// Whether the stack's line for the first module ends the save if the module fails with this error.
    private func mustStop(at top: any Module, _ error: TokenKeepError) -> Bool {
        dispatcher.programs[.save].first?.actions[error.status] == .die
    }

    private var requirements: ProtectionRequirements {
        ProtectionRequirements(dispatcher: dispatcher, sealer: VaultSealer(records))
    }

    /// Whether the first module meets the item's protection requirement. If not, the vault keeps the item.
    private func canStore(_ top: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        requirements.areMet(by: top, level, flags)
    }

    /// Gives a save request the last known level of the item, because the module cannot be asked now.
    ///
    /// The level comes from the vault's note of a sealed item, or from the item as this process last saw it.
    private func inheriting(_ request: SaveRequest, from top: any Module) throws(TokenKeepError) -> SaveRequest {
        guard request.inherited == nil else { return request }
        var request = request
        request.inherited = try records.sealedDetails(of: request.name)
        if request.inherited == nil {
            request.inherited = (top as? any RememberingModule)?.lastSeen(request.name)?.details
        }
        return request
    }

    /// Sends a value to a module that saves in one step. For any other module, the record gets the value first.
    private func send(
        _ request: SaveRequest, over record: JournalRecord?, first top: any Module, _ item: borrowing ItemTransaction,
        _ call: CallContext, mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        let reason = "it is the first that takes items"
        let version = try ask(top, to: .save, request.name, because: reason) { () throws(TokenKeepError) in
            try top.saveAtOnce(request, call.allowingPrompts(mayAsk))
        }
        if let version { return (.keep, .sent(version: version)) }
        do throws(TokenKeepError) {
            var request = request
            let present = try present(&request, in: top, call)
            try request.check(present: present?.details)
            let keys = item.keys
            let base = present.map { keys.fingerprint(of: $0.secret) }
            let (record, step) = try recording(
                request, over: record, present?.details, first: top, item, call, base: base)
            guard case .recorded(let version, let parts, let home) = step else { return (record, step) }
            return (record, .ahead(version: version, pending: parts, home: home))
        } catch {
            // A pending write is compared with the module's item. Overwrite an unreadable item now.
            guard error.status == .corrupt else {
                var error = error
                error.changedNothing = true
                throw error
            }
        }
        let written = try ask(top, to: .save, request.name, because: reason) { () throws(TokenKeepError) in
            try top.save(request, call)
        }
        return (.keep, .sent(version: written))
    }

    /// The module's item that a save replaces; nil if there is none.
    ///
    /// If the request names a level, a sealed item whose key is locked is not opened, and the result is nil.
    private func present(
        _ request: inout SaveRequest, in top: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try top.load(request.name, call) }
        } catch {
            let isSealed = error.status == .locked && error.module == "vault"
            guard isSealed, request.precondition == .none, request.accessLevel != nil else { throw error }
            request = try inheriting(request, from: top)
            return nil
        }
    }

    /// Makes the change that copies a module's item into its record, with a write to the module pending.
    func writingAhead(
        _ value: TokenItem, to module: any Module, _ item: borrowing ItemTransaction
    ) -> JournalChange {
        let fingerprint = item.keys.fingerprint(of: value.secret)
        let pending = pending.afterSave([], of: item, to: module, holders: []).map {
            var part = $0.sending(fingerprint)
            part.base = fingerprint
            return part
        }
        return .value(.pending, details: value.details, secret: value.secret, pending: pending)
    }

    /// Whether a failed save leaves a pending write, although the first module's line ignores the failure.
    ///
    /// Without the pending write, the module's older value would reappear.
    private func mayBeRecorded(past top: any Module, _ error: TokenKeepError) -> Bool {
        error.module == top.name && mayPass(top, error)
    }

    /// Checks the request's precondition against the record's item.
    private func check(_ request: SaveRequest, present: ItemDetails?) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try request.check(present: present)
        } catch {
            throw error.inModule("vault")
        }
    }

    /// Writes the value into the record, with the pending writes and removals that result from the save.
    private func recording(
        _ request: SaveRequest, over record: JournalRecord?, _ present: ItemDetails?, first top: any Module,
        _ item: borrowing ItemTransaction, _ call: CallContext, wasSent: Bool = false, base: [UInt8]? = nil
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if record != nil, !wasSent { try check(request, present: present) }
        var details = request.details(replacing: present, module: "vault")
        if top.supportsPendingWrites, record.map(pending.govern) != true {
            try details.checkLowersNothing(of: request.inherited, module: top.name)
            try details.checkLowersNothing(of: records.sealedDetails(of: request.name), module: top.name)
        }
        details.version = item.keys.versions.version(of: details, secret: request.secret)
        let known = record?.pendingBeforeChange(item.keys) ?? []
        var isKept = canStore(top, details.accessLevel, details.flags)
        let holders = try modulesToClear(after: known, to: isKept ? top : nil)
        let looks =
            wasSent || base != nil ? [:] : pending.look(at: holders + (isKept ? [top] : []), item, call)
        // Ask only now whether the module was used: a module that answered `look(at:)` is marked as used.
        if isKept, top.supportsPendingWrites, !pending.has(known, for: top.name) { isKept = try !isNeverUsed(top) }
        guard isKept || requirements.hasVault else {
            throw TokenKeepError(
                .policy, "\(top.name) cannot meet the protection requirement of \(request.name)", module: top.name,
                hint: "use a stack that ends with the vault: any required vault")
        }
        let target = top.supportsPendingWrites && isKept ? top : nil
        var parts = pending.afterSave(known, of: item, to: target, holders: holders, looks: looks)
        for index in parts.indices where pending.isOurs(parts[index]) && parts[index].kind == .write {
            if wasSent { parts[index] = parts[index].sending(item.keys.fingerprint(of: request.secret)) }
            if let base { parts[index].base = base }
        }
        let state: RecordState = parts.isEmpty ? .home : .pending
        note(.save, request.name, .ok, parts.isEmpty ? "the vault keeps it" : "the vault keeps it, with pending writes")
        return (
            .value(state, details: details, secret: request.secret, pending: parts),
            .recorded(
                version: details.version, pending: parts.filter(pending.isOurs), home: target?.name ?? "vault")
        )
    }
}
