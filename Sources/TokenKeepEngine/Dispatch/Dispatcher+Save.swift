import TokenKeepCore

extension Dispatcher {
    /// Saves an item in the stack's modules. Never called for a memory-only item.
    typealias SaveInPlaces = (SaveRequest, CallContext) throws(TokenKeepError) -> SaveOutcome

    /// Finds the details of the item with which a condition is compared.
    typealias Present = (ItemName, CallContext) throws(TokenKeepError) -> ItemDetails?

    /// Saves an item in the stack's first module that accepts it, and removes older copies from later modules.
    ///
    /// - Parameter present: finds the item with which the condition of a memory-only item's first save is compared; nil to
    ///   ask the modules.
    func save(
        _ request: SaveRequest, _ call: CallContext, inPlaces: SaveInPlaces? = nil, present: Present? = nil
    ) throws(TokenKeepError) -> SaveOutcome {
        let inPlaces = inPlaces ?? saveInPlaces
        if let item = memory.item(request.name) {
            return try save(request, over: item, call, inPlaces)
        }
        if request.accessLevel == .memoryOnly {
            return try saveInMemory(request, call, present ?? found)
        }
        return try inPlaces(request, call)
    }

    /// Saves an item while a memory-only item of the same name exists, which a load returns.
    ///
    /// Checks the precondition against the memory-only item. Without a level, or with the level memory-only, the save
    /// replaces the memory-only item's value. With another level, the stack's modules get the item, and the memory-only
    /// item is removed.
    private func save(
        _ request: SaveRequest, over item: TokenItem, _ call: CallContext, _ inPlaces: SaveInPlaces
    ) throws(TokenKeepError) -> SaveOutcome {
        try request.check(present: item.details)
        try checkRequirementsInMemory(request.details(replacing: item.details, module: memory.name), over: item.details)
        guard let level = request.accessLevel, level != .memoryOnly else {
            return SaveOutcome(version: try memory.save(request, call), module: memory.name)
        }
        var request = request
        request.precondition = .none
        let outcome = try inPlaces(request, call)
        _ = try memory.clear(request.name, ifVersion: nil, call)
        return outcome
    }

    /// Saves a memory-only item. Removes nothing from the stack's modules.
    private func saveInMemory(
        _ request: SaveRequest, _ call: CallContext, _ find: Present
    ) throws(TokenKeepError) -> SaveOutcome {
        var request = request
        if request.precondition != .none {
            try request.check(present: find(request.name, call))
            request.precondition = .none
        }
        try checkRequirementsInMemory(request.details(replacing: nil, module: memory.name), over: nil)
        return SaveOutcome(version: try memory.save(request, call), module: memory.name)
    }

    private func found(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> ItemDetails? {
        try findForCondition(name, call).details
    }

    /// Throws if memory does not meet an item's protection requirement, or if the save would lower the requirements.
    private func checkRequirementsInMemory(
        _ details: ItemDetails, over present: ItemDetails?
    ) throws(TokenKeepError) {
        try details.checkLowersNothing(of: present, module: memory.name)
        guard details.accessLevel == .memoryOnly, !details.flags.isDisjoint(with: .requirements) else { return }
        try memory.protection(of: .memoryOnly, details.flags)?.requireEnforced(.memoryOnly, details.flags)
    }

    func saveInPlaces(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        let places = places(for: .save)
        let request = places.count > 1 ? try completed(request, for: places, call) : request
        var taken: Set<String> = []
        let walk = walk(.save, request.name.description, passes: { maySave(request, past: $0, $1) }) {
            place throws(TokenKeepError) in
            var request = request
            // Only the first module that saves the item checks the precondition. The save there changes the item's
            // version, so the same check in a later module would fail.
            if !taken.isEmpty { request.precondition = .none }
            try ProtectionRequirements(dispatcher: self, sealer: call.sealer).check(request, in: place.module)
            let version = try place.module.save(request, call)
            taken.insert(place.module.name)
            return Answered(value: (version: version, place: place))
        }
        guard let saved = walk.answers.first else {
            if places.isEmpty { throw Dispatcher.noModule("saves") }
            throw walk.failure ?? TokenKeepError(.unavailable, "no module of the stack took the item \(request.name)")
        }
        try removeCopies(of: request.name, below: saved.place, except: taken, call)
        return SaveOutcome(version: saved.version, module: saved.place.module.name)
    }

    /// Whether a failed save may try the next module of the stack.
    ///
    /// A save with a precondition never goes on, because only one module checks the precondition. After an outage, a
    /// save goes on only if the vault can record a pending write for the failed module, or if the line's action is not
    /// `bad`. If a save went on in any other case, a load would later find the failed module's older value.
    private func maySave(_ request: SaveRequest, past error: TokenKeepError, _ action: StackAction) -> Bool {
        guard request.precondition == .none else { return false }
        switch error.status {
        case .unavailable, .timedOut, .notFound: return canRecordPending || action != .bad
        default: return true
        }
    }

    /// Loads the existing item, completes the save request with the item's level, and checks the precondition.
    ///
    /// - Throws: the failure of a module that a load asks before the item's, if the save has a precondition.
    func completed(
        _ request: SaveRequest, for places: [Place], _ call: CallContext
    ) throws(TokenKeepError) -> SaveRequest {
        var request = request
        if request.precondition == .none {
            guard request.accessLevel == nil else { return request }
            for place in places.dropFirst() where request.inherited == nil {
                do throws(TokenKeepError) {
                    request.inherited = try place.module.load(request.name, call).details
                } catch {
                    // A save without a level keeps the item's level. A locked item's level is unknown: the save fails.
                    guard error.status != .locked else { throw error }
                }
            }
            return request
        }
        let found = try findForCondition(request.name, call)
        try request.check(present: found.details)
        guard let details = found.details, let first = places.first?.module.name else { return request }
        request.inherited = details
        // The save in the first module compares once more, as far as a load asked that module.
        if details.module != first { request.precondition = found.absent.contains(first) ? .absent : .none }
        return request
    }

    private func removeCopies(
        of name: ItemName, below place: Place, except taken: Set<String>, _ call: CallContext
    ) throws(TokenKeepError) {
        let below = programs.places.drop { $0.module.name != place.module.name }.dropFirst()
        // If the stack has no `clear` line for a module, the module's copy stays.
        let clearable = Set(places(for: .clear).map(\.module.name))
        var visited = taken
        for other in below where clearable.contains(other.module.name) && visited.insert(other.module.name).inserted {
            do throws(TokenKeepError) {
                try other.module.clearOwn(name, call)
                trace?(.aside(.clear, name, other.module, .ok, "an older copy goes"))
            } catch {
                trace?(.aside(.clear, name, other.module, error.status, "an older copy should go"))
                throw TokenKeepError(
                    error.status,
                    "\(name) was saved in \(place.module.name), but its older copy in \(other.module.name) could not be removed: \(error.message)",
                    module: other.module.name, hint: error.hint)
            }
        }
    }
}
