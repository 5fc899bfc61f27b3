public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of forgetting a module.
public struct ForgetOutcome: Sendable {
    /// Whether the module had been marked as used on a machine for which it was to be forgotten.
    public internal(set) var wasUsed = false
    /// The number of items that stay in the vault although the module never got them.
    public internal(set) var kept = 0
    /// The number of dropped removals. If the module returns, such a cleared item reappears.
    public internal(set) var givenUp = 0
    /// The first failure met. The item that failed keeps its pending changes.
    public internal(set) var problem: TokenKeepError?
}

/// Forgets that a module was ever used, and drops the changes that are pending for the module.
struct Forgetting {
    let records: Records
    let module: String
    let isOnEveryMachine: Bool

    /// Drops the module's pending changes, then the mark that the module was used.
    ///
    /// - Parameter milliseconds: the time limit for one item.
    func run(_ call: CallContext, eachItem milliseconds: UInt32) throws(TokenKeepError) -> ForgetOutcome {
        var outcome = ForgetOutcome()
        let found = try records.pendingRecords()
        outcome.problem = found.problem
        let machine = records.hash(of: records.machine)
        for record in found.records.values where record.pending.contains(where: { isForgotten($0, machine) }) {
            do throws(TokenKeepError) {
                try forget(record, call.until(Deadline(milliseconds: milliseconds)), &outcome)
            } catch {
                outcome.problem = outcome.problem ?? error
            }
        }
        do throws(TokenKeepError) {
            try forgetSealed(machine, call)
        } catch {
            outcome.problem = outcome.problem ?? error
        }
        try call.deadline.checkCancellation()
        // Remove the mark last, because a module with pending changes must stay marked as used.
        outcome.wasUsed = try records.unmarkUsed(module, onEveryMachine: isOnEveryMachine)
        return outcome
    }

    private func isForgotten(_ part: PendingWrite, _ machine: [UInt8]) -> Bool {
        part.module == module && (isOnEveryMachine || part.machine == machine)
    }

    private func forget(
        _ seen: JournalRecord, _ call: CallContext, _ outcome: inout ForgetOutcome
    ) throws(TokenKeepError) {
        guard let name = seen.name else {
            throw TokenKeepError(
                .corrupt, "the record of a cleared item does not say which", module: "vault",
                hint: "clear the item again, and then forget the module")
        }
        var item = try records.begin(name, call)
        let machine = item.machineHash
        guard let record = item.entry.record, record.pending.contains(where: { isForgotten($0, machine) }) else {
            return
        }
        let rest = record.pending.filter { !isForgotten($0, machine) }
        try item.apply(record.leaving(rest))
        if record.holdsValue { outcome.kept += 1 } else { outcome.givenUp += 1 }
    }

    /// Removes the module from the notes that tell which modules hold sealed items.
    private func forgetSealed(_ machine: [UInt8], _ call: CallContext) throws(TokenKeepError) {
        guard let vault = try records.open() else { return }
        for note in try SealedNotes(vault).all()
        where note.holders.contains(where: { $0.module == module && (isOnEveryMachine || $0.machine == machine) }) {
            try records.begin(note.name, call).forgetSealed(in: module, onEveryMachine: isOnEveryMachine)
        }
    }
}
