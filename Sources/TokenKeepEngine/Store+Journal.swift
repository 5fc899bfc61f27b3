public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
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
        let call = try begin(.any, until: deadline)
        try unlockWithGivenPassword(call)
        var outcome = try reconciler.sync(call, eachItem: timeoutMilliseconds, progress: progress)
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
        guard let vault = try withoutPassword() else { return }
        _ = try resealing.run(vault, call, progress: nil)
    }

    /// The pending writes and removals, for this machine and for others.
    public func pendingReport() throws(TokenKeepError) -> PendingReport {
        _ = try begin(.any)
        return PendingReport(records)
    }

    /// The pending changes on this machine for modules that are not in this stack.
    ///
    /// ``sync(until:progress:)`` on this store does not apply these changes.
    public func pendingElsewhere() throws(TokenKeepError) -> [PendingReport.Entry] {
        try pendingReport().entries.filter { $0.isOfThisMachine && !reconciler.pending.isOurs($0.part) }
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
        let call = try begin(.any, until: deadline)
        guard ModuleName.isValid(module) else {
            throw TokenKeepError(.invalid, "no module can have this name", hint: "tokenkeep status names them")
        }
        return try Forgetting(records: records, module: module, isOnEveryMachine: onEveryMachine)
            .run(call.withoutPrompts, eachItem: timeoutMilliseconds)
    }

    /// Throws if a module of the stack can be reached and has pending changes on this machine.
    ///
    /// Call this before ``forget(module:onEveryMachine:until:)``. If a reachable module is forgotten before its
    /// pending changes are applied, loads find its older items, and cleared items reappear.
    ///
    /// - Throws: ``Status/policy`` if the module is reachable and has pending changes.
    public func checkIsAway(module name: String) throws(TokenKeepError) {
        let call = try begin(.any).withoutPrompts
        let pending = PendingReport(records).entries.count { $0.part.module == name && $0.isOfThisMachine }
        guard pending > 0, let module = dispatcher.programs.places.map(\.module).first(where: { $0.name == name }),
            module.report(call).problem == nil
        else { return }
        let items = pending == 1 ? "an item is" : "\(pending) items are"
        throw TokenKeepError(
            .policy,
            "\(name) can be reached, and \(items) pending for it: if it were forgotten, its older items would return",
            hint: "to apply the pending writes: tokenkeep sync; to forget it all the same: --though-reachable")
    }
}

extension Store {
    /// Moves the items of the store's namespace from one module of the stack to another.
    ///
    /// The store's timeout applies to each item. The source loses an item only after the item was read back from the
    /// target. If the process is killed, every load still returns the item, and another run completes the move. If
    /// prompts are allowed, each module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - service: moves only items of this service; nil for all services.
    ///   - isDryRun: whether to move no item, so that the outcome only names the items that would be moved.
    ///   - deadline: the end of the whole call; nil for the store's timeout from now.
    ///   - progress: called on the caller's thread with the numbers of finished and of all items.
    /// - Throws: ``Status/invalid`` if the stack lacks a module, ``Status/unsupported`` if the items of a module cannot
    ///   be moved, any failure to list the source. The outcome has the failures of single items.
    public func migrate(
        from source: String, to target: String, service: String? = nil, isDryRun: Bool = false,
        until deadline: Deadline? = nil, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> MigrationOutcome {
        let call = try begin(.any, until: deadline)
        if let service { _ = try ItemName(namespace: namespace, service: service, account: "") }
        guard reconciler.pending.isPossible else {
            throw TokenKeepError(
                .unsupported, "the stack has no two modules between which items can be moved",
                hint: "give one that has both: --stack $'any sufficient secret-service\\nany required vault'")
        }
        try unlockWithGivenPassword(call)
        return try Migration(reconciler, from: source, to: target).run(
            namespace: namespace, service: service, isDryRun: isDryRun, call, eachItem: timeoutMilliseconds,
            progress: progress)
    }
}
