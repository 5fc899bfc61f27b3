import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Migration {
    /// An item that can be moved, with the pending changes of its record.
    struct Plan {
        let item: TokenItem
        /// The pending changes of the item's record.
        let pending: [PendingWrite]
        /// Whether the record has pending changes for this stack. These changes name the modules that may hold the
        /// item.
        let isGoverned: Bool
    }

    /// The plan for moving an item; nil if the source does not have the item.
    ///
    /// - Throws: an error if the item must not be moved, because it is unreadable or a load would find another value
    ///   after the move.
    func plan(_ name: ItemName, _ entry: JournalEntry, _ call: CallContext) throws(TokenKeepError) -> Plan? {
        if case .unreadable(let error) = entry { throw error }
        if let record = entry.record, pending.govern(record) {
            guard [source.name, target.name].contains(home(of: record)), let item = try record.item() else {
                return nil
            }
            // A foreign item that another program saved in the source after the move began is newer, so the item must
            // not be moved.
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
                .policy, "\(name) has a protection requirement, and a move would drop it",
                hint: "load it and save it anew instead")
        }
        try checkSource(name, call)
        try checkTarget(name, against: found, call)
        try checkOthers(name, call)
        return Plan(item: found, pending: entry.record?.pending ?? [], isGoverned: false)
    }

    /// The name of the module for which the record's value is pending; `vault` if no write is pending.
    private func home(of record: JournalRecord) -> String {
        record.pending.first { pending.isOurs($0) && $0.kind == .write }?.module ?? "vault"
    }

    /// Checks that the move may replace the item that the target has.
    ///
    /// - A foreign item of the same name must have the moved value.
    /// - A TokenKeep item with another value must not be newer than the moved item, and a load must not find it first.
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
        let order = dispatcher.places(for: .load).map(\.module.name)
        guard order.first(where: [source.name, target.name].contains) == target.name else { return }
        throw TokenKeepError(
            .conflict, "\(name) has another value in \(target.name), which comes before \(source.name)",
            hint: "the one that a load shows is the item; to be rid of both: tokenkeep clear")
    }

    /// Checks that the source has no foreign item of the same name.
    ///
    /// Otherwise the removal from the source would also remove the foreign item. If the removal kept the foreign item,
    /// a load could return this item instead of the moved item.
    private func checkSource(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard try !source.foreignItems(name, call).isEmpty else { return }
        throw TokenKeepError(
            .conflict, "another program has an item \(name) in \(source.name) too",
            hint: "it would lose it; if it may: load it, clear it, save it anew, and run this again")
    }

    /// Checks that no module besides source and target has the item.
    ///
    /// Otherwise a load could find that module's item instead of the target's.
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
            try dispatcher.trace.asking(module, to: .load, name, because: reason) { () throws(TokenKeepError) in
                try module.load(name, call)
            }
        }
    }

    /// The pending changes of a move: a write to the target, and a removal from each other module that holds the item.
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
                // Modification times are whole seconds. The time of the change is set one second earlier, so that
                // another program's change within the same second counts as newer.
                part.since = UnixTime(UnixTime.now.rawValue - 1)
                if part.module == source.name { part.base = keys.fingerprint(of: plan.item.secret) }
            }
            return part
        }
    }

    /// The pending changes that return the item to the source after the target altered it.
    ///
    /// If the target altered the secret, the item is removed from the target, so that no load finds the altered secret.
    /// If the target altered only metadata, the item stays there, because it may belong to another program.
    func pendingBack(
        _ record: JournalRecord, _ item: borrowing ItemTransaction, after alteration: PendingDrain.Move.Alteration
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
