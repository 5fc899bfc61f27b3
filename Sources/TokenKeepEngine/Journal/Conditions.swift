import TokenKeepCore
import TokenKeepRecords

// The condition of a save or clear ("only if absent", "only if the version is V") is always compared with the item that
// a load would return.

extension Dispatcher {
    /// The item with which a condition is compared, and the modules that do not have the item.
    struct Found {
        /// The details of the item that a load returns; nil if no module has the item.
        var details: ItemDetails?
        /// The item's secret; nil if it was not read.
        var secret: SecretBytes?
        /// The modules that answered that they do not have the item.
        var absent: [String] = []
    }

    /// Finds the item with which the condition of a save or clear is compared, which is the item that a load returns.
    ///
    /// - Parameter record: the item's record, if the caller has read it.
    /// - Throws: the failure of a module that a load asks before it finds the item, because that module may have
    ///   another item.
    func findForCondition(
        _ name: ItemName, _ call: CallContext, record: JournalRecord? = nil
    ) throws(TokenKeepError) -> Found {
        var found = Found()
        var failure: TokenKeepError?
        var silent = self
        silent.trace = nil
        let operation: StackLine.Operation = operations[.load].asksModules ? .load : .save
        _ = silent.walk(operation, name.description) { place throws(TokenKeepError) in
            do throws(TokenKeepError) {
                if place.module.holdsRecords, let details = try record?.openDetails() {
                    found.details = found.details ?? details
                } else {
                    let item = try place.module.load(name, call)
                    if found.details == nil { (found.details, found.secret) = (item.details, item.secret) }
                }
                return Answered(value: ())
            } catch {
                if error.status != .notFound, found.details == nil {
                    failure = failure ?? error.inModule(place.module.name)
                }
                if error.status == .notFound, !error.isAbsence { found.absent.append(place.module.name) }
                throw error
            }
        }
        if let item = memoryOnlyItem(name) { return item }
        if let failure { throw failure }
        return found
    }

    /// The memory-only item, which a load returns before any item of the stack; nil if there is none.
    ///
    /// Checked after the modules have answered, because another thread may save a memory-only item meanwhile.
    func memoryOnlyItem(_ name: ItemName) -> Found? {
        memory.item(name).map { Found(details: $0.details, secret: $0.secret) }
    }
}

extension Reconciler {
    /// Drains an item's pending changes before a save or clear that has a condition.
    ///
    /// Another program may have changed the item in a module, so the condition cannot be compared with the record
    /// alone.
    ///
    /// - Throws: the failure of a module that could not be asked; the item is then unchanged.
    func drainBeforeCondition(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard try records.journal.snapshot(for: name).mayHavePending else { return }
        let isPending = try governing(name, call) != nil
        try drainRemoval(before: name, call, isNeeded: true)
        guard isPending else { return }
        var drained = try draining(name, call.withoutPrompts)
        if let obstacle = drained.obstacle, obstacle.status == .locked, obstacle.module != "vault", call.promptsAllowed
        {
            for module in pending.deferrable { try module.prepare(call) }
            drained = try draining(name, call.withoutPrompts)
        }
        guard let left = drained.left.first else { return }
        throw drained.obstacle
            ?? TokenKeepError(
                .unavailable, "\(name) has a change pending for \(left.module), which is not asked now",
                module: left.module,
                hint: "try again when \(left.module) answers: tokenkeep status says why it does not")
    }

    /// Finds the item with which the condition of a save or clear is compared, which is the item that a load returns.
    ///
    /// Call this after ``drainBeforeCondition(_:_:)``. If another change has become pending since then, the result is
    /// the record's item.
    ///
    /// - Throws: the failure of a module that a load asks before it finds the item.
    func present(
        _ item: borrowing ItemTransaction, _ state: ItemState, _ call: CallContext
    ) throws(TokenKeepError) -> Dispatcher.Found {
        let isVaultFirst = dispatcher.places(for: .load).first?.module.holdsRecords == true
        guard state == .home, !isVaultFirst else {
            if let found = dispatcher.memoryOnlyItem(item.name) { return found }
            return Dispatcher.Found(details: try item.entry.record?.openDetails())
        }
        return try dispatcher.findForCondition(item.name, call, record: item.entry.record)
    }
}
