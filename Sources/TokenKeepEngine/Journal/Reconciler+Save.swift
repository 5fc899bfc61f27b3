import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Saves in the first place that takes it. A module that cannot be reached is owed the value, which the journal keeps.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        try dispatcher.save(request, call) { request, call throws(TokenKeepError) in
            guard let top = dispatcher.places(for: .save).first?.module, top.supportsPendingWrites || top.holdsRecords else {
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

    /// Saves, and settles what is owed by asking the user.
    private func saveAsking(
        _ request: SaveRequest, first top: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        let outcome = try save(request, first: top, call.withoutPrompts, mayAsk: true)
        guard !outcome.pendingModules.isEmpty, (try? top.prepare(call)) != nil else { return outcome }
        // Whatever ends the asking: the record has it.
        guard let settled = try? drainAsking(request.name, call) else { return outcome }
        return settled.left.isEmpty ? SaveOutcome(version: outcome.version, module: top.name) : outcome
    }

    private enum Step {
        /// The module has it, and no record was needed.
        case sent(version: UInt64)
        /// The record has it first; it may owe.
        case recorded(version: UInt64, owing: [PendingWrite], home: String)
        /// The record has it while a module that can be reached takes it in several steps.
        case ahead(version: UInt64, owing: [PendingWrite], home: String)
        /// The call was cancelled when the module may have had it: the record has it now.
        case cut(TokenKeepError)
    }

    private func save(
        _ request: SaveRequest, first top: any Module, _ call: CallContext, mayAsk: Bool = false
    ) throws(TokenKeepError) -> SaveOutcome {
        var hasJournal = false
        var isBare = false
        var isAhead = false
        let step: Step
        do throws(TokenKeepError) {
            step = try vault.change(request.name, call) { entry, keys throws(TokenKeepError) in
                hasJournal = true
                isBare = isHidingNothing(entry)
                let change = try change(entry, by: request, first: top, keys, call, mayAsk: mayAsk)
                if case .ahead = change.1 { isAhead = true }
                return change
            }
        } catch {
            // The journal takes nothing, and the module is there: the steps are taken all the same.
            if isAhead { return try dispatcher.saveInPlaces(request, call) }
            // Without a journal nothing can be owed: the modules alone, and none is passed but a vault that has nothing.
            let isPassed = hasJournal && isBare && top.holdsRecords && mayPass(top, error)
            guard !hasJournal || isPassed, error.status != .busy, !top.holdsRecords || isPassed else { throw error }
            // A record that governs would hide what the modules get.
            guard hasJournal || (try? vault.mayHavePending()) == false else { throw error }
            return try saveWithoutJournal(request, because: isPassed ? nil : error, call)
        }
        switch step {
        case .sent(let version): return SaveOutcome(version: version, module: top.name)
        case .recorded(let version, let owing, let home), .ahead(let version, let owing, let home):
            let settled = try? settling(request.name, call)
            let left = settled?.left ?? owing
            // One that has it is still in the record while another must lose it.
            let unpaid = settled?.version == nil ? left.filter { $0.kind == .put }.map(\.module) : []
            let holder = unpaid.isEmpty ? home : "vault"
            return SaveOutcome(version: settled?.version ?? version, module: holder, pendingModules: unpaid)
        case .cut(let error): throw error
        }
    }

    /// Whether nothing stands in the way of what the modules hold.
    private func isHidingNothing(_ entry: JournalEntry) -> Bool {
        switch entry {
        case .none: true
        case .record(let record): !hides(record)
        case .unreadable: false
        }
    }

    /// Whether a record stands in the way of what the modules hold.
    private func hides(_ record: JournalRecord) -> Bool { debts.govern(record) || record.holdsValue }

    /// Where the modules cannot take it either, what is wrong with the journal is what the user can mend.
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

    /// Whether the stack's own line says that a failure of its first place is passed.
    private func mayPass(_ top: any Module, _ error: TokenKeepError) -> Bool {
        dispatcher.programs[.save].first?.actions[error.status] == .ignore && error.status != .unavailable
            && error.status != .timedOut
    }

    private func change(
        _ entry: JournalEntry, by request: SaveRequest, first top: any Module, _ keys: JournalKeys, _ call: CallContext,
        mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if case .unreadable(let error) = entry, request.precondition != .none { throw error }
        let record = entry.record
        if let record, hides(record) {
            return try recording(request, over: record, record.openDetails(), first: top, keys)
        }
        if case .unreadable = entry {
            return try recording(inheriting(request, from: top), over: nil, nil, first: top, keys)
        }
        // From here on the condition holds: where the module is lost after this, the item is saved in the record.
        let request = try dispatcher.settled(request, for: dispatcher.places(for: .save), call)
        let level = request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock
        if top.holdsRecords || !canStore(top, level, request.flags) {
            return try recording(request, over: record, nil, first: top, keys)
        }
        return try sendNoted(request, over: record, first: top, keys, call, mayAsk: mayAsk)
    }

    /// Sends the value, or writes it into the record where it may be on its way when this call ends.
    private func sendNoted(
        _ request: SaveRequest, over record: JournalRecord?, first top: any Module, _ keys: JournalKeys,
        _ call: CallContext, mayAsk: Bool
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        // Should this process be killed, what it sent may arrive later than what another one saves meanwhile.
        let before = vault.sendings(of: request.name, to: top.name)
        vault.noteSending(keys.fingerprint(of: request.secret), of: request.name, to: top.name)
        do throws(TokenKeepError) {
            let (change, step) = try send(request, over: record, first: top, keys, call, mayAsk: mayAsk)
            guard case .sent = step else { return (change, step) }
            // What was sent before has arrived before.
            vault.noteArrival(keys.fingerprint(of: request.secret), of: request.name, in: top)
            guard try removeCopies(of: request.name, except: top, call) else {
                return try recording(request, over: record, nil, first: top, keys, wasSent: true)
            }
            return (change, step)
        } catch {
            let isOutage = error.status == .unavailable || error.status == .timedOut
            // What was sent arrives later: unless a record knows of it, it would replace what somebody saves meanwhile.
            let isCut = error.status == .cancelled && call.deadline.isCancelled && !error.changedNothing
            guard isOutage && !mustStop(at: top, error) || isCut || mayBeRecorded(past: top, error) else {
                if error.changedNothing {
                    vault.takeBackSending(of: request.name, to: top.name, leaving: before)
                }
                throw error
            }
            let request = try inheriting(request, from: top)
            let (change, step) = try recording(request, over: record, nil, first: top, keys, wasSent: true)
            return (change, isCut ? .cut(error) : step)
        }
    }

    /// Removes older copies from the other places that the stack clears.
    ///
    /// - Returns: false where one could not be removed and is to be owed that.
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

    /// The debtors that a save into another place takes the item from.
    private func modulesToClear(after known: [PendingWrite], to top: (any Module)?) throws(TokenKeepError) -> [any Module] {
        var modulesToClear: [any Module] = []
        for module in clearable(after: known) where module.name != top?.name {
            let isUsed = try vault.hasUsed(module.name, machine: debts.machine)
            if isUsed || debts.owe(known, to: module.name) { modulesToClear.append(module) }
        }
        return modulesToClear
    }

    /// Whether the stack's own line says that an outage of its first place ends the save.
    private func mustStop(at top: any Module, _ error: TokenKeepError) -> Bool {
        dispatcher.programs[.save].first?.actions[error.status] == .die
    }

    /// Whether the first place gives the item what it asks for; else the vault keeps it.
    private func canStore(_ top: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        ProtectionRequirements(dispatcher: dispatcher).areMet(by: top, level, flags)
    }

    /// What level the item has there cannot be asked now: it is noted where it is sealed, else at best this process has seen
    /// it.
    private func inheriting(_ request: SaveRequest, from top: any Module) throws(TokenKeepError) -> SaveRequest {
        guard request.inherited == nil else { return request }
        var request = request
        request.inherited = try vault.sealedDetails(of: request.name)
        if request.inherited == nil {
            request.inherited = (top as? any RememberingModule)?.lastSeen(request.name)?.details
        }
        return request
    }

    /// Sends what one step saves. What takes several is written ahead: the record has it until they are done.
    private func send(
        _ request: SaveRequest, over record: JournalRecord?, first top: any Module, _ keys: JournalKeys,
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
            let base = present.map { keys.fingerprint(of: $0.secret) }
            let (record, step) = try recording(request, over: record, present?.details, first: top, keys, base: base)
            guard case .recorded(let version, let owing, let home) = step else { return (record, step) }
            return (record, .ahead(version: version, owing: owing, home: home))
        } catch {
            // What cannot be read cannot be compared when the record is settled: it is written over.
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

    /// What a save is to replace. Who names another level need not open what is sealed under a key that is not there.
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

    /// Takes an item that a module holds into the record, as owed to that module.
    func writingAhead(_ item: TokenItem, to module: any Module, _ keys: JournalKeys) -> JournalChange {
        let fingerprint = keys.fingerprint(of: item.secret)
        let debts = debts.afterSave([], of: self.item(item.details.name), to: module, holders: []).map {
            var debt = $0.sending(fingerprint)
            debt.base = fingerprint
            return debt
        }
        return .value(.owed, details: item.details, secret: item.secret, debts: debts)
    }

    /// A place that takes nothing, and that the stack's own line passes, is owed the value: its older one would come back.
    private func mayBeRecorded(past top: any Module, _ error: TokenKeepError) -> Bool {
        error.module == top.name && mayPass(top, error)
    }

    /// Writes the value into the record, with what it owes from now on.
    private func recording(
        _ request: SaveRequest, over record: JournalRecord?, _ present: ItemDetails?, first top: any Module,
        _ keys: JournalKeys, wasSent: Bool = false, base: [UInt8]? = nil
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if record != nil, !wasSent { try request.check(present: present) }
        var details = request.details(replacing: present, module: "vault")
        if top.supportsPendingWrites, record.map(debts.govern) != true {
            try details.checkLowersNothing(of: request.inherited, module: top.name)
            try details.checkLowersNothing(of: vault.sealedDetails(of: request.name), module: top.name)
        }
        details.version = keys.versions.version(of: details, secret: request.secret)
        let isKept = canStore(top, details.accessLevel, details.flags)
        guard isKept || ProtectionRequirements(dispatcher: dispatcher).hasVault else {
            throw TokenKeepError(
                .policy, "\(top.name) cannot keep \(request.name) as it demands", module: top.name,
                hint: "use a stack that ends with the vault: any required vault")
        }
        let debtor = top.supportsPendingWrites && isKept ? top : nil
        let owing = record?.pendingBeforeChange(keys) ?? []
        var owed = debts.afterSave(
            owing, of: item(request.name), to: debtor, holders: try modulesToClear(after: owing, to: debtor))
        if wasSent {
            let fingerprint = keys.fingerprint(of: request.secret)
            owed = owed.map { debts.isOurs($0) && $0.kind == .put ? $0.sending(fingerprint) : $0 }
        }
        if let base {
            for index in owed.indices where debts.isOurs(owed[index]) && owed[index].kind == .put {
                owed[index].base = base
            }
        }
        let state: RecordState = owed.isEmpty ? .home : .owed
        note(.save, request.name, .ok, owed.isEmpty ? "the vault keeps it" : "the vault keeps it, and owes it")
        return (
            .value(state, details: details, secret: request.secret, debts: owed),
            .recorded(
                version: details.version, owing: owed.filter(debts.isOurs), home: debtor?.name ?? "vault")
        )
    }
}
