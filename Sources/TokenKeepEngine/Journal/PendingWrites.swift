import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// What a record's debts become when its item changes.
struct PendingWrites {
    /// What is known of an item in modules, besides what its record says.
    struct Item {
        let name: ItemName
        /// Fingerprints of values that processes sent to a module which may have ended before that could be recorded.
        let sent: (_ module: String) -> [[UInt8]]
    }

    let machine: MachineID
    /// The modules of this stack to which something can be owed.
    let deferrable: [any Module]
    /// Tells since when something is owed.
    let clock: @Sendable () -> UnixTime

    /// Whether a debt is for a module of this stack on this machine; others stay as they are.
    func isOurs(_ debt: PendingWrite) -> Bool { module(of: debt) != nil }

    /// Whether a record is the truth for this stack, and not only for others.
    func govern(_ record: JournalRecord) -> Bool { record.debts.contains(where: isOurs) }

    /// Whether any module that a record owes something to may answer now.
    func mayBeDrained(_ record: JournalRecord) -> Bool { record.debts.contains { module(of: $0)?.mayAnswer == true } }

    /// Whether a record owes something to a module of this stack on this machine.
    func owes(_ record: JournalRecord, to name: String) -> Bool { owe(record.debts, to: name) }

    /// Whether any of these is for a module of this stack on this machine.
    func owe(_ debts: [PendingWrite], to name: String) -> Bool { debts.contains { $0.module == name && isOurs($0) } }

    /// The module that a debt of ours is for.
    func module(of debt: PendingWrite) -> (any Module)? {
        guard debt.machine == machine.bytes else { return nil }
        return deferrable.first { $0.name == debt.module }
    }

    /// The debts after a save whose value belongs to `top`; the other debtors in `holders` may hold an older one.
    ///
    /// - Parameter isNewValue: whether what other programs changed until now is older, also in modules of other stacks.
    func afterSave(
        _ debts: [PendingWrite], of item: Item, to top: (any Module)?, holders: [any Module], isNewValue: Bool = true
    ) -> [PendingWrite] {
        let deletions = holders.filter { $0.name != top?.name }.map { owed(.delete, of: item, to: $0, after: debts) }
        let foreign = debts.filter { !isOurs($0) }.map { isNewValue ? $0.renewed(at: clock()) : $0 }
        return foreign + (top.map { [owed(.put, of: item, to: $0, after: debts)] } ?? []) + deletions
    }

    /// The debts after a clear: every holder must lose the item, those on other machines too.
    func afterClear(_ debts: [PendingWrite], of item: Item, holders: [any Module]) -> [PendingWrite] {
        debts.filter { !isOurs($0) }.map { $0.ofDeletion.renewed(at: clock()) }
            + holders.map { owed(.delete, of: item, to: $0, after: debts) }
    }

    /// What is owed to a module now; what is known of its value stays known.
    private func owed(_ kind: PendingWrite.Kind, of item: Item, to module: any Module, after debts: [PendingWrite]) -> PendingWrite {
        let known = debts.first { $0.module == module.name && $0.machine == machine.bytes }
        let debt = PendingWrite(
            module: module.name, machine: machine.bytes, kind: kind, since: clock(),
            base: known?.base ?? (module as? any RememberingModule)?.lastSeen(item.name)?.fingerprint,
            inFlight: known?.inFlight ?? [])
        return item.sent(module.name).reduce(debt) { $0.sending($1) }
    }
}
