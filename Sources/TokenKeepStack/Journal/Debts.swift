import TokenKeepCore
import TokenKeepVault

/// What a record's debts become when its item changes.
struct Debts {
    let machine: MachineID
    /// The modules of this stack to which something can be owed.
    let debtors: [any Module]

    /// Whether a debt is for a module of this stack on this machine; others stay as they are.
    func isOurs(_ debt: Debt) -> Bool { module(of: debt) != nil }

    /// Whether a record is the truth for this stack, and not only for others.
    func govern(_ record: JournalRecord) -> Bool { record.debts.contains(where: isOurs) }

    /// The module that a debt of ours is for.
    func module(of debt: Debt) -> (any Module)? {
        guard debt.machine == machine.bytes else { return nil }
        return debtors.first { $0.name == debt.module }
    }

    /// The debts after a save whose value belongs to `top`; the other debtors in `holders` may hold an older one.
    func afterSave(_ debts: [Debt], to top: (any Module)?, holders: [any Module]) -> [Debt] {
        let deletions = holders.filter { $0.name != top?.name }.map { owed(.delete, to: $0, after: debts) }
        let foreign = debts.filter { !isOurs($0) }
        return foreign + (top.map { [owed(.put, to: $0, after: debts)] } ?? []) + deletions
    }

    /// The debts after a clear: every holder must lose the item, those on other machines too.
    func afterClear(_ debts: [Debt], holders: [any Module]) -> [Debt] {
        debts.filter { !isOurs($0) }.map(\.ofDeletion) + holders.map { owed(.delete, to: $0, after: debts) }
    }

    /// What is owed to a module now; what is known of its value stays known.
    private func owed(_ kind: Debt.Kind, to module: any Module, after debts: [Debt]) -> Debt {
        let known = debts.first { $0.module == module.name && $0.machine == machine.bytes }
        return Debt(
            module: module.name, machine: machine.bytes, kind: kind, since: .now, base: known?.base,
            inFlight: known?.inFlight ?? [])
    }
}

extension Debt {
    private static let maximumInFlight = 16

    /// The same with a value noted that was sent and may have arrived.
    func sending(_ fingerprint: [UInt8]) -> Debt {
        guard !inFlight.contains(fingerprint) else { return self }
        var debt = self
        debt.inFlight = inFlight.suffix(Debt.maximumInFlight - 1) + [fingerprint]
        return debt
    }
}
