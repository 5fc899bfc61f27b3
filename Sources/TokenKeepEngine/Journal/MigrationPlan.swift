import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Migration {
    /// An item that can be moved.
    struct Plan {
        let item: TokenItem
        /// What its record owes now.
        let pending: [PendingWrite]
        /// Whether its record holds it and governs: what its debts say of modules is true.
        let isGoverned: Bool
    }

    /// What is to be moved; nil where the source does not have the item, or not any more.
    ///
    /// - Throws: why it must stay: it cannot be read, or a load would find another value once it is moved.
    func plan(_ name: ItemName, _ entry: JournalEntry, _ call: CallContext) throws(TokenKeepError) -> Plan? {
        if case .unreadable(let error) = entry { throw error }
        if let record = entry.record, pending.govern(record) {
            guard [source.name, target.name].contains(home(of: record)), let item = try record.item() else {
                return nil
            }
            // Not where the move was begun: what another program saved since is newer, and ends it.
            if home(of: record) == source.name { try checkSource(name, call) }
            return Plan(item: item, pending: record.pending, isGoverned: true)
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
        try checkSource(name, call)
        try checkTarget(name, against: found, call)
        try checkOthers(name, call)
        return Plan(item: found, pending: entry.record?.pending ?? [], isGoverned: false)
    }

    /// Where the value of a record that governs belongs: to the module that must get it, else to the vault.
    private func home(of record: JournalRecord) -> String {
        record.pending.first { pending.isOurs($0) && $0.kind == .write }?.module ?? "vault"
    }

    /// What is moved replaces what the target has. That must be the same, or older and behind it, and nobody else's.
    private func checkTarget(
        _ name: ItemName, against item: TokenItem, _ call: CallContext
    ) throws(TokenKeepError) {
        let present = try loadIfThere(name, in: target, "nothing may be in its way there", call)
        guard let present else { return }
        let foreign = try target.foreignItems(name, call)
        guard foreign.allSatisfy({ $0.secret == item.secret }) else {
            throw TokenKeepError(
                .conflict, "another program has another value of \(name) in \(target.name)",
                hint:
                    "to give it the one that a load shows: load it, and save it anew; to be rid of both: tokenkeep clear"
            )
        }
        guard present.secret != item.secret else { return }
        if let theirs = present.details.modifiedAt, let ours = item.details.modifiedAt, theirs > ours {
            throw TokenKeepError(
                .conflict, "\(name) has a newer value in \(target.name)",
                hint:
                    "the one that a load shows is the item: load it, and save it anew; or, to be rid of both: tokenkeep clear"
            )
        }
        let order = loadOrder
        guard let targets = order.firstIndex(of: target.name),
            targets < order.firstIndex(of: source.name) ?? order.count
        else { return }
        throw TokenKeepError(
            .conflict, "\(name) has another value in \(target.name), which comes before \(source.name)",
            hint: "the one that a load shows is the item; to be rid of both: tokenkeep clear")
    }

    /// Another program's item of the name would be lost with ours; or, if it were left, answer in place of what was moved.
    private func checkSource(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard try !source.foreignItems(name, call).isEmpty else { return }
        throw TokenKeepError(
            .conflict, "another program has an item \(name) in \(source.name) too",
            hint: "it would lose it; if it may: load it, clear it, save it anew, and run this again")
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
    func pending(after plan: Plan, _ item: borrowing ItemTransaction) -> [PendingWrite] {
        let keys = item.keys
        let holders = pending.deferrable.filter { module in
            module.name == source.name || plan.isGoverned && plan.pending.contains { $0.module == module.name }
        }
        let parts = pending.afterSave(
            plan.pending, of: item, to: target.supportsPendingWrites ? target : nil, holders: holders, isNewValue: false
        )
        return parts.map { part in
            guard pending.isOurs(part) else { return part }
            var part = part
            if let known = plan.pending.first(where: { $0.module == part.module && $0.machine == part.machine }) {
                part.since = known.since
            } else {
                // What another program changes from this second on is newer than what was read.
                part.since = UnixTime(UnixTime.now.rawValue - 1)
                if part.module == source.name { part.base = keys.fingerprint(of: plan.item.secret) }
            }
            return part
        }
    }

    /// What a record owes whose value the target did not take as it is: the source keeps it, and the target loses what it
    /// made of the secret, or a load would find that. The secret itself it keeps: it may be another program's as well.
    func pendingBack(
        _ record: JournalRecord, _ item: borrowing ItemTransaction, after alteration: MigrationArrival.Alteration
    ) -> [PendingWrite] {
        let keys = item.keys
        var garbled: [UInt8]?
        if case .secret(let secret) = alteration { garbled = keys.fingerprint(of: secret) }
        let holders = pending.deferrable.filter { garbled != nil && $0.name == target.name }
        let parts = pending.afterSave(
            record.pending, of: item, to: source.supportsPendingWrites ? source : nil, holders: holders,
            isNewValue: false)
        return parts.map { part in
            guard let garbled, pending.isOurs(part), part.module == target.name else { return part }
            return part.sending(garbled)
        }
    }
}
