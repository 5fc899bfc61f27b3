import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// A function that receives the number of finished items and the number of all items.
public typealias JournalProgress = (_ done: Int, _ total: Int) -> Void

extension Reconciler {
    /// Applies the pending changes of every record to the modules of this stack, in every namespace.
    ///
    /// - Parameter milliseconds: the time limit for one item, in milliseconds.
    func sync(
        _ call: CallContext, eachItem milliseconds: UInt32, progress: JournalProgress?
    ) throws(TokenKeepError) -> SyncOutcome {
        guard try records.journal.mayHavePending() else { return SyncOutcome() }
        let found = try records.journal.pendingRecords()
        let governing = found.records.values.filter(pending.govern)
        if call.promptsAllowed {
            // Each module may prompt once, while no lock is held.
            let modules = Set(governing.flatMap(\.pending).map(\.module))
            for module in pending.deferrable where modules.contains(module.name) { try? module.prepare(call) }
        }
        var outcome = SyncOutcome(left: found.unreadable, problem: found.problem)
        var pendingModules: Set<String> = []
        let nameless = governing.filter { $0.name == nil }
        outcome.left += nameless.count
        for record in nameless { pendingModules.formUnion(record.pending.filter(pending.isOurs).map(\.module)) }
        let names = governing.compactMap(\.name).sorted()
        try call.deadline.checkCancellation()
        outcome = DrainQueue(
            names, self, call, eachItem: milliseconds, after: outcome, pendingModules: pendingModules
        ).run(progress)
        try call.deadline.checkCancellation()
        if !names.isEmpty { progress?(names.count, names.count) }
        try? records.journal.removeStaleHints()
        return outcome
    }

    /// Drains pending changes, in at most half of the call's remaining time. Never prompts.
    ///
    /// - Returns: false if a module was asked to apply a change and the change is still pending afterwards.
    func drainQuietly(_ call: CallContext) -> Bool {
        guard usesRecords, (try? records.journal.mayHavePending()) == true,
            let found = try? records.journal.pendingRecords()
        else {
            return true
        }
        var isDrained = true
        let end = Deadline(milliseconds: call.deadline.remainingMilliseconds / 2)
        for record in found.records.values where pending.govern(record) && pending.mayBeDrained(record) {
            guard let name = record.name, !end.hasPassed else { continue }
            isDrained = (try? draining(name, call.until(end)))?.left.isEmpty == true && isDrained
        }
        return isDrained
    }
}
