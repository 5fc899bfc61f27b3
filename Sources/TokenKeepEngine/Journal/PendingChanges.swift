public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The writes and removals that wait for a module of a store's stack.
public struct PendingChanges: Sendable {
    let store: Store

    /// Applies the pending writes and removals to this stack's modules on this machine, in every namespace.
    ///
    /// The store's timeout applies to each item. An item that is not reached by `deadline` keeps its pending changes.
    /// If prompts are allowed, each module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - deadline: the end of the whole call; nil for the store's timeout from now.
    ///   - progress: called on the caller's thread with the numbers of finished and of all items.
    /// - Throws: any failure to read records with pending changes. The outcome counts changes that stay pending.
    public func sync(
        until deadline: Deadline? = nil, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> SyncOutcome {
        let call = try store.begin(.any, until: deadline)
        try store.unlocking.withGivenPassword(call)
        var outcome = try store.reconciler.sync(call, eachItem: store.timeoutMilliseconds, progress: progress)
        do throws(TokenKeepError) {
            try resealWithoutPassword(call)
        } catch {
            outcome.problem = outcome.problem ?? error
        }
        return outcome
    }

    /// Re-encrypts the items that modules still hold under the keys of a removed password.
    ///
    /// In a vault with a password, an unlock re-encrypts these items. A vault without a password is never unlocked.
    private func resealWithoutPassword(_ call: CallContext) throws(TokenKeepError) {
        guard let vault = try store.unlocking.withoutPassword() else { return }
        _ = try store.resealing.run(vault, call, progress: nil)
    }

    /// The pending writes and removals, for this machine and for others.
    ///
    /// - Throws: ``Status/forked``, ``Status/cancelled``.
    public func report() throws(TokenKeepError) -> PendingReport {
        _ = try store.begin(.any)
        return PendingReport(store.records)
    }

    /// The pending changes on this machine for modules that are not in this stack.
    ///
    /// ``sync(until:progress:)`` on this store does not apply these changes. Throws as ``report()``.
    public func elsewhere() throws(TokenKeepError) -> [PendingReport.Entry] {
        try report().entries.filter { $0.isOfThisMachine && !store.reconciler.pending.isOurs($0.part) }
    }

    /// Forgets that a module was used on this machine, and drops the module's pending changes.
    ///
    /// The module need not be in this stack. The item of a dropped write stays in the vault. The item of a dropped
    /// removal reappears if the module returns.
    ///
    /// - Parameter onEveryMachine: whether to forget the module on all machines, because the other machines no longer
    ///   exist. On a machine that does exist, the module counts as empty while absent, until it is used again.
    /// - Throws: ``Status/invalid`` if no module can have the name; any failure to read records with pending changes.
    public func forget(
        module: String, onEveryMachine: Bool = false, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> ForgetOutcome {
        let call = try store.begin(.any, until: deadline)
        guard ModuleName.isValid(module) else {
            throw TokenKeepError(.invalid, "no module can have this name", hint: "tokenkeep status names them")
        }
        return try Forgetting(records: store.records, module: module, isOnEveryMachine: onEveryMachine)
            .run(call.withoutPrompts, eachItem: store.timeoutMilliseconds)
    }

    /// Throws if a module of the stack can be reached and has pending changes on this machine.
    ///
    /// Call this before ``forget(module:onEveryMachine:until:)``. If a reachable module is forgotten before its
    /// pending changes are applied, loads find its older items, and cleared items reappear.
    ///
    /// - Throws: ``Status/policy`` if the module is reachable and has pending changes.
    public func checkIsAway(module name: String) throws(TokenKeepError) {
        let call = try store.begin(.any).withoutPrompts
        let pending = PendingReport(store.records).entries.count { $0.part.module == name && $0.isOfThisMachine }
        guard pending > 0,
            let module = store.dispatcher.operations.places.map(\.module).first(where: { $0.name == name }),
            module.report(call).problem == nil
        else { return }
        let items = pending == 1 ? "an item is" : "\(pending) items are"
        throw TokenKeepError(
            .policy,
            "\(name) can be reached, and \(items) pending for it: if it were forgotten, its older items would return",
            hint: "to apply the pending writes: tokenkeep sync; to forget it all the same: --though-reachable")
    }
}
