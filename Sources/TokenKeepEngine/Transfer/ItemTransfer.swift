public import TokenKeepCore
import TokenKeepRecords

/// Moves items between modules, and exports and imports them.
public struct ItemTransfer: Sendable {
    let store: Store

    /// Moves the items of the store's namespace from one module of the stack to another.
    ///
    /// The store's timeout applies to each item. The source loses an item only after it was read back from the target.
    /// If the process is killed, loads still return the item, and another run completes the move. If prompts are
    /// allowed, each module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - service: the service whose items are moved; nil for all services.
    ///   - isDryRun: whether to move no item and only return the names of those that would be moved.
    ///   - deadline: the end of the whole call; nil for the store's timeout.
    ///   - progress: called on the caller's thread with the number of finished items and the number of all items.
    /// - Throws: ``Status/invalid`` if the stack lacks a module; ``Status/unsupported`` if items of a module cannot be
    ///   moved; the errors of listing the source. Failures of single items are in the outcome.
    public func migrate(
        from source: String, to target: String, service: String? = nil, isDryRun: Bool = false,
        until deadline: Deadline? = nil, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> MigrationOutcome {
        let call = try store.begin(.any, until: deadline)
        if let service { _ = try ItemName(namespace: store.namespace, service: service, account: "") }
        guard store.reconciler.pending.isPossible else {
            throw TokenKeepError(
                .unsupported, "the stack has no two modules between which items can be moved",
                hint: "give one that has both: --stack $'any sufficient secret-service\\nany required vault'")
        }
        try store.unlocking.withGivenPassword(call)
        return try Migration(store.reconciler, from: source, to: target).run(
            namespace: store.namespace, service: service, isDryRun: isDryRun, call, eachItem: store.timeoutMilliseconds,
            progress: progress)
    }

    /// A copy of the call's context with the time limit of one item. The time begins now, because an earlier prompt may
    /// have taken long.
    func inTime(_ call: CallContext) -> CallContext { call.until(Deadline(milliseconds: store.timeoutMilliseconds)) }
}
