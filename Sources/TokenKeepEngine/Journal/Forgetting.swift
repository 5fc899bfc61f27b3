public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of `tokenkeep forget MODULE`, which drops a module's pending changes.
public struct ForgetOutcome: Sendable {
    /// Whether the module was marked as used on this machine, or on any machine if that was requested.
    public internal(set) var wasUsed = false
    /// The number of items that stay in the vault because the module never received them.
    public internal(set) var kept = 0
    /// The number of dropped removals. The items that they would have removed reappear if the module returns.
    public internal(set) var givenUp = 0
    /// The first failure to read or change a record; nil if there is none. The item that failed keeps its pending
    /// changes.
    public internal(set) var problem: TokenKeepError?
}

/// Removes the mark that a module was used, and drops the changes that are pending for it.
struct Forgetting {
    let records: Records
    let module: String
    let isOnEveryMachine: Bool

    /// Drops the module's pending changes and sealed copies from all records, and then the mark that the module was
    /// used.
    ///
    /// - Parameter milliseconds: the time limit for one item, in milliseconds.
    func run(_ call: CallContext, eachItem milliseconds: UInt32) throws(TokenKeepError) -> ForgetOutcome {
        let found = try records.journal.pendingRecords()
        let pending = found.records.values.filter { $0.pending.contains { isForgotten($0.module, $0.machine) } }
        let sealed = try records.open().map { (vault) throws(TokenKeepError) in try SealedRecords(vault).all() }
        let copied = (sealed?.entries ?? []).filter {
            $0.copies.holders.contains { isForgotten($0.module, $0.machine) }
        }
        var outcome = ForgetOutcome(problem: found.problem ?? sealed?.problem)
        for name in Set(pending.map(\.name) + copied.map(\.name)) {
            do throws(TokenKeepError) {
                try forget(name, call.until(Deadline(milliseconds: milliseconds)), &outcome)
            } catch {
                outcome.problem = outcome.problem ?? error
            }
        }
        try call.deadline.checkCancellation()
        // The mark is removed last, because a module with pending changes must stay marked as used.
        outcome.wasUsed = try records.journal.unmarkUsed(module, onEveryMachine: isOnEveryMachine)
        return outcome
    }

    private func isForgotten(_ module: String, _ machine: [UInt8]) -> Bool {
        module == self.module && (isOnEveryMachine || machine == records.hash(of: records.machine))
    }

    private func forget(
        _ name: ItemName?, _ call: CallContext, _ outcome: inout ForgetOutcome
    ) throws(TokenKeepError) {
        guard let name else {
            throw TokenKeepError(
                .corrupt, "the record of a cleared item does not say which", module: "vault",
                hint: "clear the item again, and then forget the module")
        }
        var item = try records.begin(name, call)
        if let record = item.entry.record {
            let rest = record.pending.filter { !isForgotten($0.module, $0.machine) }
            try item.apply(record.leaving(rest))
            if rest.count < record.pending.count {
                if record.holdsValue { outcome.kept += 1 } else { outcome.givenUp += 1 }
            }
        }
        try item.forgetSealed(in: module, onEveryMachine: isOnEveryMachine)
    }
}
