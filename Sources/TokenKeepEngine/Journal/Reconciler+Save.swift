import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Saves in the first module that takes the item.
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

    /// Saves, and then drains with prompts if the save left a pending write.
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
        /// The record has the value until a reachable module has taken it in several steps.
        case ahead(version: UInt64, pending: [PendingWrite], home: String)
        /// The call was cancelled after the value may have been sent; the record has the value now.
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
            // The journal failed, but the module is reachable: save in the modules directly, without writing ahead.
            if attempt.isAhead { return try dispatcher.saveInPlaces(request, call) }
            // Without a journal no write can be pending, so no module is skipped, except a vault without a value for
            // the item.
            let isPassed = attempt.hasJournal && attempt.isBare && top.holdsRecords && mayPass(top, error)
            guard !attempt.hasJournal || isPassed, error.status != .busy, !top.holdsRecords || isPassed else {
                throw error
            }
            // A record that governs would hide the modules' items.
            guard attempt.hasJournal || (try? records.mayHavePending()) == false else { throw error }
            return try saveWithoutJournal(request, because: isPassed ? nil : error, call)
        }
        switch step {
        case .sent(let version): return SaveOutcome(version: version, module: top.name)
        case .recorded(let version, let parts, let home), .ahead(let version, let parts, let home):
            let drained = parts.isEmpty ? nil : try? draining(request.name, call)
            let left = drained?.left ?? parts
            // A written module stays in the record while another module must still lose the item.
            let missed = drained?.version == nil ? left.filter { $0.kind == .write }.map(\.module) : []
            let holder = missed.isEmpty ? home : "vault"
            return SaveOutcome(version: drained?.version ?? version, module: holder, pendingModules: missed)
        case .cut(let error): throw error
        }
    }

    /// The progress of a save, for the handling of its failure.
    private struct Attempt {
        /// Whether the item's lock was taken.
        var hasJournal = false
        /// Whether a load reads the item from its module, and not from the record.
        var isBare = false
        /// Whether the value is written ahead of a module that takes it in several steps.
        var isAhead = false
    }

    /// Saves under the item's lock.
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

    /// Whether the modules' items are visible despite the item's record.
    private func isHidingNothing(_ entry: JournalEntry) -> Bool {
        switch entry {
        case .none: true
        case .record(let record): !hides(record)
        case .unreadable: false
        }
    }

    /// Whether a record hides the modules' items.
    private func hides(_ record: JournalRecord) -> Bool { pending.govern(record) || record.holdsValue }

    /// Saves in the modules without the journal, which has failed. If no module can be reached, throws the journal's error,
    /// which the user can repair.
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

    /// Whether the stack's line for the first module ignores this failure. An outage is never ignored.
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

    /// Loads the item from deferrable modules that were never used, so that a module that has it is marked as used.
    ///
    /// Another program may have saved the item there. A load would find that item before the vault's, so the module
    /// must lose it.
    private func discoverItems(_ name: ItemName, _ call: CallContext) {
        for module in pending.deferrable where (try? records.hasUsed(module.name)) == false {
            _ = try? module.load(name, call.withoutPrompts)
        }
    }

    /// Sends the value. If the value may still arrive after the call, writes the value into the record too.
    private func sendNoted(
        _ request: SaveRequest, over record: JournalRecord?, first top: any Module, _ item: borrowing ItemTransaction,
        _ call: CallContext, mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        // If this process is killed, the sent value may arrive after another process's save, and must then count as
        // older.
        let before = item.holder(top.name)
        let fingerprint = item.keys.fingerprint(of: request.secret)
        item.noteSending(fingerprint, to: top.name)
        do throws(TokenKeepError) {
            let (change, step) = try send(request, over: record, first: top, item, call, mayAsk: mayAsk)
            guard case .sent = step else { return (change, step) }
            // This save has arrived, so every value sent before has arrived too.
            item.noteArrival(fingerprint, in: top.name)
            // A removal of the service that became pending meanwhile would take the value with it.
            let mayBeRemoved = try isToBeEmptied(top, of: request.name, call)
            guard try removeCopies(of: request.name, except: top, call), !mayBeRemoved else {
                return try recording(request, over: record, nil, first: top, item, call, wasSent: true)
            }
            return (change, step)
        } catch {
            let isOutage = error.status == .unavailable || error.status == .timedOut
            // The sent value may arrive later. Without a record, it would then replace another process's newer save.
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
    /// A machine that never had a service must not collect pending writes for one.
    private func isNeverUsed(_ module: any Module) throws(TokenKeepError) -> Bool {
        guard [.save, .load].allSatisfy({ dispatcher.places(for: $0).contains { $0.module.holdsRecords } }) else {
            return false
        }
        return try !records.hasUsed(module.name)
    }

    /// Removes older copies from the other modules that the stack clears.
    ///
    /// - Returns: false if a copy could not be removed and its removal must become pending.
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

    /// The deferrable modules that lose the item when it is saved in another module.
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

    /// Whether the stack's line for the first module ends the save on this outage.
    private func mustStop(at top: any Module, _ error: TokenKeepError) -> Bool {
        dispatcher.programs[.save].first?.actions[error.status] == .die
    }

    private var requirements: ProtectionRequirements {
        ProtectionRequirements(dispatcher: dispatcher, sealer: VaultSealer(records))
    }

    /// Whether the first module meets the item's protection requirement; if not, the vault keeps the item.
    private func canStore(_ top: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        requirements.areMet(by: top, level, flags)
    }

    /// The request with the last known level of the item, because the module cannot be asked now.
    ///
    /// The level comes from the note of a sealed item, or from the item as this process last saw it.
    private func inheriting(_ request: SaveRequest, from top: any Module) throws(TokenKeepError) -> SaveRequest {
        guard request.inherited == nil else { return request }
        var request = request
        request.inherited = try records.sealedDetails(of: request.name)
        if request.inherited == nil {
            request.inherited = (top as? any RememberingModule)?.lastSeen(request.name)?.details
        }
        return request
    }

    /// Sends a value that the module saves in one step. If it needs several steps, the record gets the value first.
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
            // A pending write is compared with the present item. An unreadable item cannot be compared: overwrite it now.
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

    /// The item that a save replaces.
    ///
    /// If the request names a level, a sealed item whose key is locked need not be opened.
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

    /// The record change that keeps a module's item in the record, with a pending write for the module.
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

    /// Whether a failure of the first module, which its stack line ignores, leaves the value as a pending write.
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

    /// Writes the value into the record, with the pending writes and removals that follow from the save.
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
        // A module that answered the look counts as used.
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
