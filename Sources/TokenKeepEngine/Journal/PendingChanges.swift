public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The writes and removals that are pending for modules of a store's stack.
public struct PendingChanges: Sendable {
    let store: Store

    /// Applies the pending writes and removals to this stack's modules on this machine, in every namespace.
    ///
    /// The store's timeout applies to each item. Items that are not reached by `deadline` keep their pending changes.
    /// If prompts are allowed, each module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - deadline: the end of the whole call; nil for the store's timeout.
    ///   - progress: called on the caller's thread with the number of finished items and the number of all items.
    /// - Throws: the errors of reading records with pending changes. The outcome counts the changes that stay pending.
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

    /// Re-encrypts the items that modules still hold under keys of the removed password.
    ///
    /// If the vault has a password, an unlock re-encrypts these items. A vault without a password is never unlocked, so
    /// a sync does it.
    private func resealWithoutPassword(_ call: CallContext) throws(TokenKeepError) {
        guard let vault = try store.unlocking.withoutPassword() else { return }
        _ = try store.resealing.run(vault, call, progress: nil)
    }

    /// Reports the pending writes and removals, for this machine and for others.
    ///
    /// - Throws: ``Status/forked`` after `fork()`, ``Status/cancelled`` if the call was cancelled. The errors of
    ///   reading records are in the report.
    public func report() throws(TokenKeepError) -> PendingReport {
        _ = try store.begin(.any)
        return PendingReport(store.records)
    }

    /// Returns the pending changes on this machine for modules that are not in this stack.
    ///
    /// ``sync(until:progress:)`` of this store does not apply these changes. Throws the errors of ``report()``.
    public func elsewhere() throws(TokenKeepError) -> [PendingReport.Entry] {
        try report().entries.filter { $0.isOfThisMachine && !store.reconciler.pending.isOurs($0.part) }
    }

    /// Forgets that a module was used on this machine, and drops the module's pending changes.
    ///
    /// The module need not be in this stack. The item of a dropped write stays in the vault. The item of a dropped
    /// removal reappears if the module returns.
    ///
    /// - Parameter onEveryMachine: whether to forget the module on all machines, because the other machines no longer
    ///   exist. On another machine that does exist, an absent module then counts as empty until the module is used
    ///   again.
    /// - Throws: ``Status/invalid`` if no module can have the name; the errors of reading records with pending changes.
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

    /// Throws if a module of this stack is available and has pending changes on this machine.
    ///
    /// Call this before ``forget(module:onEveryMachine:until:)``. If an available module is forgotten before its
    /// pending changes are applied, loads find its older items, and cleared items reappear.
    ///
    /// - Throws: ``Status/policy`` if the module is available and has pending changes.
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
