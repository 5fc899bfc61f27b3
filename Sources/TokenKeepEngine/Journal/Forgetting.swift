public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// What forgetting a module came to.
public struct ForgetOutcome: Sendable {
    /// Whether it was noted that the module was used on the machine, or on any.
    public internal(set) var wasUsed = false
    /// How many items the vault keeps that the module was to get.
    public internal(set) var kept = 0
    /// How many removals are given up: where the module comes back with such an item, it is there again.
    public internal(set) var givenUp = 0
    /// The first failure met; what it is about is still owed.
    public internal(set) var problem: TokenKeepError?
}

/// Forgets that a module was ever used on a machine, and everything that is owed to it there.
struct Forgetting {
    let vault: Vault
    let module: String
    /// nil: every machine.
    var machine: MachineID? = .current

    /// - Parameter milliseconds: how long one item may take at most.
    func run(_ call: CallContext, eachItem milliseconds: UInt32) throws(TokenKeepError) -> ForgetOutcome {
        var outcome = ForgetOutcome()
        let owing = try vault.pendingRecords()
        outcome.problem = owing.problem
        for record in owing.records.values where record.debts.contains(where: isForgotten) {
            do throws(TokenKeepError) {
                try forget(record, call.until(Deadline(milliseconds: milliseconds)), &outcome)
            } catch {
                outcome.problem = outcome.problem ?? error
            }
        }
        do throws(TokenKeepError) {
            try vault.forgetSealed(in: module, machine: machine, call)
        } catch {
            outcome.problem = outcome.problem ?? error
        }
        try call.deadline.checkCancellation()
        // Last: a module that is still owed something was used.
        outcome.wasUsed = try vault.unmarkUsed(module, machine: machine)
        return outcome
    }

    private func isForgotten(_ debt: PendingWrite) -> Bool {
        debt.module == module && (machine == nil || debt.machine == machine?.bytes)
    }

    private func forget(
        _ seen: JournalRecord, _ call: CallContext, _ outcome: inout ForgetOutcome
    ) throws(TokenKeepError) {
        guard let name = seen.name else {
            throw TokenKeepError(
                .corrupt, "the record of a cleared item does not say which", module: "vault",
                hint: "clear the item again, and then forget the module")
        }
        let before = try vault.change(name, call) { entry, _ throws(TokenKeepError) -> (JournalChange, RecordState?) in
            guard let record = entry.record, record.debts.contains(where: isForgotten) else { return (.keep, nil) }
            return (try withoutPending(record), record.state)
        }
        switch before {
        case .tombstone: outcome.givenUp += 1
        case .owed, .home: outcome.kept += 1
        case nil: break
        }
    }

    private func withoutPending(_ record: JournalRecord) throws(TokenKeepError) -> JournalChange {
        let rest = record.debts.filter { !isForgotten($0) }
        guard let item = try record.item() else { return rest.isEmpty ? .remove : .tombstone(debts: rest) }
        return .value(rest.isEmpty ? .home : .owed, details: item.details, secret: item.secret, debts: rest)
    }
}
