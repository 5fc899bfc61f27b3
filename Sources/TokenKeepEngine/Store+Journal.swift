public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
    /// Settles what the journal owes to modules of this stack on this machine, for items of every namespace.
    ///
    /// Each item may take as long as a call; what is not reached by `deadline` is left. Where prompts are allowed, a
    /// module may ask the user before the first item.
    ///
    /// - Parameters:
    ///   - deadline: when all must be over; nil for the store's timeout from now.
    ///   - progress: is told how far it is, on the caller's thread.
    /// - Throws: why the journal cannot be read. What cannot be settled is a count of the outcome.
    public func sync(
        until deadline: Deadline? = nil, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> SyncOutcome {
        let call = try begin(.any, until: deadline)
        var outcome = try reconciler.sync(call, eachItem: timeoutMilliseconds, progress: progress)
        do throws(TokenKeepError) {
            try resealWithoutPassword(call)
        } catch {
            outcome.problem = outcome.problem ?? error
        }
        return outcome
    }

    /// Without a password nobody unlocks: items that modules hold under the keys of an earlier password are sealed anew here.
    private func resealWithoutPassword(_ call: CallContext) throws(TokenKeepError) {
        guard let vault = try withoutPassword() else { return }
        _ = try resealing.run(vault, call, progress: nil)
    }

    /// What the journal owes, on this machine and on others.
    public func pendingReport() throws(TokenKeepError) -> PendingReport {
        _ = try begin(.any)
        return PendingReport(records)
    }

    /// What is owed on this machine to modules that this stack does not write to: ``sync(until:progress:)`` leaves it.
    public func pendingElsewhere() throws(TokenKeepError) -> [PendingReport.Entry] {
        try pendingReport().entries.filter { $0.isOfThisMachine && !reconciler.pending.isOurs($0.part) }
    }

    /// Forgets that a module, of this stack or not, was used on this machine, and what is owed to it here.
    ///
    /// An item that only it was to get is the vault's from now on. A removal that only it was owed is given up.
    ///
    /// - Parameter onEveryMachine: whether all of it is forgotten for other machines too: what is owed on one that is gone is
    ///   settled by nobody. One that is not gone takes its module's absence for an empty one, until it is used again.
    /// - Throws: ``Status/invalid`` where no module can have the name, and why the journal cannot be read.
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

    /// What speaks against forgetting a module of the stack: it could be given now what it is owed on this machine.
    ///
    /// What is forgotten instead leaves the module its older items, which come before the vault's, and those cleared.
    ///
    /// - Throws: ``Status/policy`` where that is so.
    public func checkIsAway(module name: String) throws(TokenKeepError) {
        let call = try begin(.any).withoutPrompts
        let owed = PendingReport(records).entries.count { $0.part.module == name && $0.isOfThisMachine }
        guard owed > 0, let module = dispatcher.programs.places.map(\.module).first(where: { $0.name == name }),
            module.report(call).problem == nil
        else { return }
        let items = owed == 1 ? "an item is" : "\(owed) items are"
        throw TokenKeepError(
            .policy,
            "\(name) can be reached, and \(items) pending for it: if it were forgotten, its older items would return",
            hint: "to apply the pending writes: tokenkeep sync; to forget it all the same: --though-reachable")
    }
}

extension Store {
    /// Moves the items of the store's namespace from one module of the stack to another.
    ///
    /// Each item may take as long as a call. What was moved was read back. After a kill another run completes what was
    /// begun, and until then every load gives the item. Where prompts are allowed, a module may ask the user before the
    /// first item.
    ///
    /// - Parameters:
    ///   - service: only items of this service; nil for all.
    ///   - isDryRun: whether it is only said what would be moved.
    ///   - deadline: when all must be over; nil for the store's timeout from now.
    ///   - progress: is told how far it is, on the caller's thread.
    /// - Throws: ``Status/invalid`` where the stack has no such module, ``Status/unsupported`` for a module whose items
    ///   cannot be moved, and why the source cannot be listed. What keeps an item where it is is a failure of the outcome.
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
        return try Migration(reconciler, from: source, to: target).run(
            namespace: namespace, service: service, isDryRun: isDryRun, call, eachItem: timeoutMilliseconds,
            progress: progress)
    }
}
