import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Takes how many items are done, of how many.
public typealias JournalProgress = (_ done: Int, _ total: Int) -> Void

extension Reconciler {
    /// Pays what every record owes, whatever its namespace.
    ///
    /// - Parameter milliseconds: how long one item may take at most.
    func sync(
        _ call: CallContext, eachItem milliseconds: UInt32, progress: JournalProgress?
    ) throws(TokenKeepError) -> SyncOutcome {
        guard try vault.mayHavePending() else { return SyncOutcome() }
        let owing = try vault.pendingRecords()
        let records = owing.records.values.filter(debts.govern)
        prepareDeferrable(of: records, call)
        var outcome = SyncOutcome(left: owing.unreadable, problem: owing.problem)
        var pendingModules: Set<String> = []
        let nameless = records.filter { $0.name == nil }
        outcome.left += nameless.count
        for record in nameless { pendingModules.formUnion(record.debts.filter(debts.isOurs).map(\.module)) }
        let names = records.compactMap(\.name).sorted()
        for (index, name) in names.enumerated() {
            try call.deadline.checkCancellation()
            progress?(index, names.count)
            do throws(TokenKeepError) {
                let settled = try drainInTime(name, call.until(Deadline(milliseconds: milliseconds)))
                pendingModules.formUnion(settled.left.map(\.module))
                if settled.left.isEmpty {
                    outcome.drained += 1
                } else {
                    outcome.left += 1
                    outcome.obstacle = outcome.obstacle ?? settled.obstacle
                }
            } catch {
                outcome.left += 1
                outcome.problem = outcome.problem ?? error
            }
        }
        try call.deadline.checkCancellation()
        if !names.isEmpty { progress?(names.count, names.count) }
        try? vault.removeStaleHints(call.withoutPrompts)
        outcome.pendingModules = pendingModules.sorted()
        return outcome
    }

    private func drainInTime(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> Drain.Outcome {
        guard !call.deadline.hasPassed else {
            throw call.deadline.failure("the deadline passed before every item was settled")
        }
        return try drainAsking(name, call)
    }

    /// Asks the user what modules need of him, once and with no lock held.
    private func prepareDeferrable(of records: [JournalRecord], _ call: CallContext) {
        guard call.promptsAllowed else { return }
        let owed = Set(records.flatMap(\.debts).map(\.module))
        for module in debts.deferrable where owed.contains(module.name) { try? module.prepare(call) }
    }
}
