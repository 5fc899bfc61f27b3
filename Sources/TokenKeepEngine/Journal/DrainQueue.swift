import TokenKeepCore
import TokenKeepRecords

/// The items that a sync drains on up to four threads: the caller's and three others.
///
/// Several threads save time, because a module can work on one item while the vault makes the changes of another item
/// durable.
final class DrainQueue: Sendable {
    /// The number of threads in addition to the caller's.
    private static let helpers = 3
    /// The minimum number of items for which additional threads are used.
    private static let fewestForHelpers = 8

    private struct State {
        var next = 0
        var finished = 0
        var outcome = SyncOutcome()
        var pendingModules: Set<String> = []
        /// The items whose modules must prompt before they delete an older item.
        var asking: [ItemName] = []

        mutating func count(_ drained: PendingDrain.Outcome, _ name: ItemName, mayAsk: Bool) {
            if mayAsk, !drained.asking.isEmpty, !asking.contains(name) { return asking.append(name) }
            finished += 1
            pendingModules.formUnion(drained.left.map(\.module))
            if drained.left.isEmpty {
                outcome.drained += 1
            } else {
                outcome.left += 1
                outcome.obstacle = outcome.obstacle ?? drained.obstacle
            }
        }

        mutating func count(_ error: TokenKeepError) {
            finished += 1
            outcome.left += 1
            outcome.problem = outcome.problem ?? error
        }
    }

    private let reconciler: Reconciler
    private let names: [ItemName]
    private let call: CallContext
    /// The time limit for one item, in milliseconds.
    private let milliseconds: UInt32
    private let state: MutexGuarded<State>

    /// - Parameter outcome: the initial result, which counts the records that cannot be drained. The results of the
    ///   drained items are added.
    init(
        _ names: [ItemName], _ reconciler: Reconciler, _ call: CallContext, eachItem milliseconds: UInt32,
        after outcome: SyncOutcome, pendingModules: Set<String>
    ) {
        self.names = names
        self.reconciler = reconciler
        self.call = call
        self.milliseconds = milliseconds
        state = MutexGuarded(State(outcome: outcome, pendingModules: pendingModules))
    }

    /// Drains every item. Prompts and reports progress on the calling thread only.
    func run(_ progress: JournalProgress?) -> SyncOutcome {
        let helpers = names.count < DrainQueue.fewestForHelpers ? 0 : DrainQueue.helpers
        ParallelWork.run(beside: helpers, { while self.drainNext() {} }) {
            repeat { report(progress) } while drainNext()
        }
        for name in state.withLock({ $0.asking }) where !call.deadline.isCancelled {
            report(progress)
            drain(name) { call throws(TokenKeepError) in try reconciler.drainAsking(name, call) }
        }
        return state.withLock { state in
            state.outcome.pendingModules = state.pendingModules.sorted()
            return state.outcome
        }
    }

    private func report(_ progress: JournalProgress?) {
        let finished = state.withLock { $0.finished }
        if finished < names.count { progress?(finished, names.count) }
    }

    /// Drains the next item without prompts. Returns false if no item is left, or if the call was cancelled.
    private func drainNext() -> Bool {
        let next = state.withLock { state -> ItemName? in
            guard state.next < names.count else { return nil }
            state.next += 1
            return names[state.next - 1]
        }
        guard let name = next, !call.deadline.isCancelled else { return false }
        drain(name) { call throws(TokenKeepError) in try reconciler.draining(name, call.withoutPrompts) }
        return true
    }

    private func drain(
        _ name: ItemName, _ body: (CallContext) throws(TokenKeepError) -> PendingDrain.Outcome
    ) {
        do throws(TokenKeepError) {
            guard !call.deadline.hasPassed else {
                throw call.deadline.failure("the deadline passed before every item was drained")
            }
            let drained = try body(call.until(Deadline(milliseconds: milliseconds)))
            state.withLock { $0.count(drained, name, mayAsk: call.promptsAllowed) }
        } catch {
            state.withLock { $0.count(error) }
        }
    }
}
