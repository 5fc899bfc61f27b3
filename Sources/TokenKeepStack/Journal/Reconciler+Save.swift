import TokenKeepCore
import TokenKeepVault

extension Reconciler {
    /// Saves in the first place that takes it. A module that cannot be reached is owed the value, which the journal keeps.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        try dispatcher.save(request, call) { request, call throws(TokenKeepError) in
            guard let top = dispatcher.places(for: .save).first?.module, top.acceptsDebts || top.holdsRecords else {
                return try dispatcher.saveInPlaces(request, call)
            }
            guard call.promptsAllowed else { return try save(request, first: top, call) }
            do throws(TokenKeepError) {
                let outcome = try save(request, first: top, call.withoutPrompts)
                guard !outcome.owedTo.isEmpty, (try? top.prepare(call)) != nil else { return outcome }
                let left = try settle(request.name, call.withoutPrompts)
                return left.isEmpty ? SaveOutcome(version: outcome.version, module: top.name) : outcome
            } catch {
                guard error.status == .locked, error.module != "vault" else { throw error }
            }
            try top.prepare(call)
            return try save(request, first: top, call.withoutPrompts)
        }
    }

    private enum Step {
        /// The module has it, and no record was needed.
        case sent(version: UInt64)
        /// The record has it first; it may owe.
        case recorded(version: UInt64, owing: [Debt], home: String)
    }

    private func save(
        _ request: SaveRequest, first top: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        var hasJournal = false
        let step: Step
        do throws(TokenKeepError) {
            step = try vault.change(request.name, call) { entry, keys throws(TokenKeepError) in
                hasJournal = true
                return try change(entry, by: request, first: top, keys, call)
            }
        } catch {
            // Without a journal nothing can be owed: the modules alone, and none is passed.
            let isPassed = hasJournal && mayPass(top, error)
            guard !hasJournal || isPassed, error.status != .busy, !top.holdsRecords || isPassed else { throw error }
            // A record that governs would hide what the modules get.
            guard hasJournal || (try? vault.mayOwe()) == false else { throw error }
            return try saveWithoutJournal(request, because: isPassed ? nil : error, call)
        }
        switch step {
        case .sent(let version): return SaveOutcome(version: version, module: top.name)
        case .recorded(let version, let owing, let home):
            let left = (try? settle(request.name, call)) ?? owing
            let unpaid = left.filter { $0.kind == .put }.map(\.module)
            let holder = unpaid.isEmpty ? home : "vault"
            return SaveOutcome(version: version, module: holder, owedTo: unpaid)
        }
    }

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
        guard let step = dispatcher.programs[.save].steps.first(where: { $0.place != nil }) else { return false }
        return step.actions[error.status] == .ignore && error.status != .unavailable && error.status != .timedOut
    }

    private func change(
        _ entry: JournalEntry, by request: SaveRequest, first top: any Module, _ keys: JournalKeys, _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if case .unreadable(let error) = entry, request.precondition != .none { throw error }
        let record = entry.record
        if let record, debts.govern(record) || record.holdsValue {
            return try recording(request, over: record, record.openDetails(), first: top, keys)
        }
        if case .unreadable = entry { return try recording(request, over: nil, nil, first: top, keys) }
        // From here on the condition holds: where the module is lost after this, the item is saved in the record.
        let request = try dispatcher.settled(request, for: dispatcher.places(for: .save), call)
        let level = request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock
        if top.holdsRecords || !mayKeep(top, level, request.flags) {
            return try recording(request, over: record, nil, first: top, keys)
        }
        do throws(TokenKeepError) {
            let version = try ask(top, to: .save, request.name, because: "it is the first that takes items") {
                () throws(TokenKeepError) in try top.save(request, call)
            }
            return (.keep, .sent(version: version))
        } catch {
            let isOutage = error.status == .unavailable || error.status == .timedOut
            guard isOutage || mayBeRecorded(past: top, error) else { throw error }
            return try recording(request, over: record, nil, first: top, keys, wasSent: true)
        }
    }

    /// Whether the first place gives the item what it asks for; else the vault keeps it.
    private func mayKeep(_ top: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        Demands(dispatcher: dispatcher).areMet(by: top, level, flags)
    }

    /// A locked place that the stack's own line passes is owed the value: its older one would come back.
    private func mayBeRecorded(past top: any Module, _ error: TokenKeepError) -> Bool {
        error.status == .locked && mayPass(top, error)
    }

    /// Writes the value into the record, with what it owes from now on.
    private func recording(
        _ request: SaveRequest, over record: JournalRecord?, _ present: ItemDetails?, first top: any Module,
        _ keys: JournalKeys, wasSent: Bool = false
    ) throws(TokenKeepError) -> (JournalChange, Step) {
        if record != nil, !wasSent { try request.check(present: present) }
        var details = request.details(replacing: present, module: "vault")
        details.version = keys.versions.version(of: details, secret: request.secret)
        let isKept = mayKeep(top, details.accessLevel, details.flags)
        guard isKept || Demands(dispatcher: dispatcher).hasVault else {
            throw TokenKeepError(
                .policy, "\(top.name) cannot keep \(request.name) as it demands", module: top.name,
                hint: "use a stack that ends with the vault: any required vault")
        }
        let debtor = top.acceptsDebts && isKept ? top : nil
        let owing = record?.debtsBeforeChange(keys) ?? []
        var owed = debts.afterSave(owing, to: debtor, holders: try usedDebtors())
        if wasSent {
            let fingerprint = keys.fingerprint(of: request.secret)
            owed = owed.map { debts.isOurs($0) && $0.kind == .put ? $0.sending(fingerprint) : $0 }
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
