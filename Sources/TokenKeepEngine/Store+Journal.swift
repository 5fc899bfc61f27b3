public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
    /// Applies the pending writes and removals to this stack's modules on this machine, in every namespace.
    ///
    /// The store's timeout applies to each item. Items not reached by `deadline` stay pending. If prompts are allowed,
    /// a module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - deadline: the end of the whole call; nil for the store's timeout from now.
    ///   - progress: called with the number of finished items, on the caller's thread.
    /// - Throws: any failure to read the vault's records of pending changes. The outcome counts the changes that stay
    ///   pending.
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

    /// Re-encrypts the items that modules hold under the keys of a removed password.
    ///
    /// An unlock usually does this, but a vault without a password is never unlocked.
    private func resealWithoutPassword(_ call: CallContext) throws(TokenKeepError) {
        guard let vault = try withoutPassword() else { return }
        _ = try resealing.run(vault, call, progress: nil)
    }

    /// The writes and removals that modules missed and that are still to be applied, on this machine and on others.
    public func pendingReport() throws(TokenKeepError) -> PendingReport {
        _ = try begin(.any)
        return PendingReport(records)
    }

    /// The changes on this machine that wait for a module which is not in this stack.
    ///
    /// ``sync(until:progress:)`` does not apply these changes.
    public func pendingElsewhere() throws(TokenKeepError) -> [PendingReport.Entry] {
        try pendingReport().entries.filter { $0.isOfThisMachine && !reconciler.pending.isOurs($0.part) }
    }

    /// Forgets that a module was used on this machine, and drops the changes that are pending for it here.
    ///
    /// The module need not be in this stack. If a dropped change is the write of an item, the item stays in the vault.
    /// If it is a removal, the item reappears if the module returns.
    ///
    /// - Parameter onEveryMachine: whether the module is forgotten for all other machines too, because they no longer
    ///   exist. On a machine that does exist, the module then counts as empty while absent, until it is used again.
    /// - Throws: ``Status/invalid`` if no module can have the name; any failure to read the vault's records of pending
    ///   changes.
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

    /// Throws if a module of the stack is reachable and still has changes pending on this machine.
    ///
    /// Call this before ``forget(module:onEveryMachine:until:)``. If a reachable module is forgotten before it gets its
    /// pending changes, its older items take precedence over the vault's, and its cleared items reappear.
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
    /// The store's timeout applies to each item. An item leaves the source only after the item was read back from the
    /// target. If the process is killed, another run completes the move, and until then every load returns the item. If
    /// prompts are allowed, a module may prompt before the first item.
    ///
    /// - Parameters:
    ///   - service: moves only items of this service; nil for all services.
    ///   - isDryRun: whether the outcome only names the items, and none is moved.
    ///   - deadline: the end of the whole call; nil for the store's timeout from now.
    ///   - progress: called with the number of finished items, on the caller's thread.
    /// - Throws: ``Status/invalid`` if the stack lacks the module, ``Status/unsupported`` if the module's items cannot
    ///   be moved, and any failure to list the source. An item that cannot be moved is a failure in the outcome.
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
