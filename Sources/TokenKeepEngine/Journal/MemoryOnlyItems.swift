import TokenKeepCore

// A memory-only item comes before the stack: a load returns it first, so a save or clear begins with it. While a save
// asks the stack's modules, other threads may change the memory-only item. Each change of memory therefore requires
// that memory still has the item that the save has seen.
extension Reconciler {
    /// Saves an item while a memory-only item of the same name exists.
    ///
    /// Compares the precondition with the memory-only item. Without a level, or with the level memory-only, the save
    /// replaces the memory-only item's value. With another level, the stack's modules save the item, and the
    /// memory-only item is removed.
    ///
    /// - Returns: nil if another thread saved or cleared the memory-only item meanwhile, so that the save must begin
    ///   again. A save with a precondition does not begin again, because the other thread's save counts as later.
    func save(
        _ request: SaveRequest, over item: TokenItem, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome? {
        let memory = dispatcher.memory
        try request.check(present: item.details)
        try checkRequirementsInMemory(request.details(replacing: item.details, module: memory.name), over: item.details)
        guard let level = request.accessLevel, level != .memoryOnly else {
            return try saveInMemory(request, if: .version(item.details.version), call)
        }
        let isConditional = request.precondition != .none
        var request = request
        request.precondition = .none
        let outcome = try saveInModules(request, call)
        do throws(TokenKeepError) {
            _ = try memory.clear(request.name, ifVersion: item.details.version, call)
        } catch {
            // If the memory-only item was removed, loads return the saved value. If it was replaced, the new
            // memory-only item hides the saved value, so a save without a condition begins again.
            guard error.status == .conflict else { throw error }
            if !isConditional, memory.item(request.name) != nil { return nil }
        }
        return outcome
    }

    /// Saves a memory-only item that is not in memory yet. Removes nothing from the stack's modules.
    ///
    /// - Returns: nil if another thread saved a memory-only item meanwhile, so that the save must begin again.
    func saveInMemory(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome? {
        if request.precondition != .none {
            if usesRecords { try drainBeforeCondition(request.name, call) }
            try request.check(present: dispatcher.findForCondition(request.name, call).details)
        }
        try checkRequirementsInMemory(request.details(replacing: nil, module: dispatcher.memory.name), over: nil)
        return try saveInMemory(request, if: .absent, call)
    }

    /// Saves an item in memory; nil if memory does not meet `precondition`, which describes the state that the save has
    /// seen.
    private func saveInMemory(
        _ request: SaveRequest, if precondition: SaveRequest.Precondition, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome? {
        let memory = dispatcher.memory
        var request = request
        request.precondition = precondition
        do throws(TokenKeepError) {
            return SaveOutcome(version: try memory.save(request, call), module: memory.name)
        } catch {
            guard error.status == .duplicate || error.status == .conflict else { throw error }
            return nil
        }
    }

    /// Clears a memory-only item, then the stack's item of the same name.
    func clearInMemory(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        _ = try dispatcher.memory.clear(name, ifVersion: version, call)
        _ = try clearInModules(name, ifVersion: nil, call)
        return true
    }

    /// Throws if memory does not meet the item's protection requirements, or if the save would lower them.
    private func checkRequirementsInMemory(
        _ details: ItemDetails, over present: ItemDetails?
    ) throws(TokenKeepError) {
        let memory = dispatcher.memory
        try details.checkLowersNothing(of: present, module: memory.name)
        guard details.accessLevel == .memoryOnly, !details.flags.isDisjoint(with: .requirements) else { return }
        try memory.protection(of: .memoryOnly, details.flags)?.requireEnforced(.memoryOnly, details.flags)
    }
}
