import TokenKeepCore

// Memory-only items come before the stack: a load returns such an item, so a save or clear begins with it.
extension Reconciler {
    /// Saves an item while a memory-only item of the same name exists.
    ///
    /// Checks the precondition against the memory-only item. Without a level, or with the level memory-only, the save
    /// replaces the memory-only item's value. With another level, the stack's modules get the item, and the memory-only
    /// item is removed.
    func save(
        _ request: SaveRequest, over item: TokenItem, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        let memory = dispatcher.memory
        try request.check(present: item.details)
        try checkRequirementsInMemory(request.details(replacing: item.details, module: memory.name), over: item.details)
        guard let level = request.accessLevel, level != .memoryOnly else {
            return SaveOutcome(version: try memory.save(request, call), module: memory.name)
        }
        var request = request
        request.precondition = .none
        let outcome = try saveInModules(request, call)
        _ = try memory.clear(request.name, ifVersion: nil, call)
        return outcome
    }

    /// Saves a memory-only item. Removes nothing from the stack's modules.
    func saveInMemory(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        var request = request
        if request.precondition != .none {
            if usesRecords { try drainBeforeCondition(request.name, call) }
            try request.check(present: dispatcher.findForCondition(request.name, call).details)
            request.precondition = .none
        }
        let memory = dispatcher.memory
        try checkRequirementsInMemory(request.details(replacing: nil, module: memory.name), over: nil)
        return SaveOutcome(version: try memory.save(request, call), module: memory.name)
    }

    /// Clears a memory-only item, then the stack's item of the same name.
    func clearInMemory(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        _ = try dispatcher.memory.clear(name, ifVersion: version, call)
        _ = try clear(name, ifVersion: nil, call)
        return true
    }

    /// Throws if memory does not meet an item's protection requirement, or if the save would lower the requirements.
    private func checkRequirementsInMemory(
        _ details: ItemDetails, over present: ItemDetails?
    ) throws(TokenKeepError) {
        let memory = dispatcher.memory
        try details.checkLowersNothing(of: present, module: memory.name)
        guard details.accessLevel == .memoryOnly, !details.flags.isDisjoint(with: .requirements) else { return }
        try memory.protection(of: .memoryOnly, details.flags)?.requireEnforced(.memoryOnly, details.flags)
    }
}
