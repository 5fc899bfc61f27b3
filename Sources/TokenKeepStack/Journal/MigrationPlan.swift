import TokenKeepCore
import TokenKeepVault

extension Migration {
    /// An item that can be moved.
    struct Plan {
        let item: TokenItem
        /// What its record owes now.
        let debts: [Debt]
        /// Whether its record holds it and governs: what its debts say of modules is true.
        let isGoverned: Bool
    }

    /// What is to be moved; nil where the source does not have the item, or not any more.
    ///
    /// - Throws: why it must stay: it cannot be read, or a load would find another value once it is moved.
    func plan(_ name: ItemName, _ entry: JournalEntry, _ call: CallContext) throws(TokenKeepError) -> Plan? {
        if case .unreadable(let error) = entry { throw error }
        if let record = entry.record, debts.govern(record) {
            guard [source.name, target.name].contains(home(of: record)), let item = try record.item() else {
                return nil
            }
            return Plan(item: item, debts: record.debts, isGoverned: true)
        }
        let found =
            source.holdsRecords
            ? try entry.record?.item()
            : try loadIfThere(name, in: source, "it is to be moved from there", call)
        guard let found else { return nil }
        guard found.details.flags.isDisjoint(with: [.requireEnforced, .userPresence]) else {
            throw TokenKeepError(
                .policy, "\(name) is kept under a demand that holds where it is",
                hint: "load it and save it anew instead")
        }
        try checkTarget(name, against: found, call)
        try checkOthers(name, call)
        return Plan(item: found, debts: entry.record?.debts ?? [], isGoverned: false)
    }

    /// Where the value of a record that governs belongs: to the module that must get it, else to the vault.
    private func home(of record: JournalRecord) -> String {
        record.debts.first { debts.isOurs($0) && $0.kind == .put }?.module ?? "vault"
    }

    /// A value in the target that a load finds before the source's is the item's; what is moved would replace it.
    private func checkTarget(
        _ name: ItemName, against item: TokenItem, _ call: CallContext
    ) throws(TokenKeepError) {
        let present = try loadIfThere(name, in: target, "nothing may be in its way there", call)
        guard let present, present.secret != item.secret else { return }
        let order = loadOrder
        guard let targets = order.firstIndex(of: target.name),
            targets < order.firstIndex(of: source.name) ?? order.count
        else { return }
        throw TokenKeepError(
            .conflict, "\(name) has another value in \(target.name), which comes before \(source.name)",
            hint: "the one that a load shows is the item; to be rid of both: tokenkeep clear")
    }

    /// A third module's copy would come before the target's, or behind it rise when the target loses its own.
    private func checkOthers(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        var others = dispatcher.places(for: .load).map(\.module).filter {
            ![source.name, target.name].contains($0.name)
        }
        others.append(dispatcher.memory)
        for module in others {
            guard try loadIfThere(name, in: module, "no third place may have it", call) != nil else { continue }
            throw TokenKeepError(
                .conflict, "\(name) is in \(module.name) too", hint: "load it, clear it, and save it anew")
        }
    }

    private func loadIfThere(
        _ name: ItemName, in module: any Module, _ reason: String, _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem? {
        try Dispatcher.unlessNotFound { () throws(TokenKeepError) in
            try reconciler.ask(module, to: .load, name, because: reason) { () throws(TokenKeepError) in
                try module.load(name, call)
            }
        }
    }

    private var loadOrder: [String] { dispatcher.places(for: .load).map(\.module.name) }

    /// What the record owes from now on: the target its value, everybody else who has it the removal.
    func debts(after plan: Plan, _ item: Debts.Item, _ keys: JournalKeys) -> [Debt] {
        let holders = debts.debtors.filter { module in
            module.name == source.name || plan.isGoverned && plan.debts.contains { $0.module == module.name }
        }
        let owed = debts.afterSave(
            plan.debts, of: item, to: target.acceptsDebts ? target : nil, holders: holders, isNewValue: false)
        return owed.map { debt in
            guard debts.isOurs(debt) else { return debt }
            var debt = debt
            if let known = plan.debts.first(where: { $0.module == debt.module && $0.machine == debt.machine }) {
                debt.since = known.since
            } else {
                // What another program changes from this second on is newer than what was read.
                debt.since = UnixTime(UnixTime.now.rawValue - 1)
                if debt.module == source.name { debt.base = keys.fingerprint(of: plan.item.secret) }
            }
            return debt
        }
    }

    /// What a record owes whose value the target did not take as it is: the source keeps it, and the target loses what it
    /// made of it, or a load would find that.
    func debtsBack(_ record: JournalRecord, _ item: Debts.Item, garbled: [UInt8]) -> [Debt] {
        let holders = debts.debtors.filter { $0.name == target.name }
        let owed = debts.afterSave(
            record.debts, of: item, to: source.acceptsDebts ? source : nil, holders: holders, isNewValue: false)
        return owed.map { debts.isOurs($0) && $0.module == target.name ? $0.sending(garbled) : $0 }
    }
}
