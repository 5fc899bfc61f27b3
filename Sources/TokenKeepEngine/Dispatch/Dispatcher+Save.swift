import TokenKeepCore

extension Dispatcher {
    /// Saves an item in the stack's first module that accepts it, and removes older copies from later modules.
    ///
    /// Writes no record. If the first module has records or pending writes, ``Saving`` saves instead.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> SaveOutcome {
        let places = places(for: .save)
        let request = places.count > 1 ? try completed(request, for: places, call) : request
        var taken: Set<String> = []
        let walk = walk(.save, request.name.description, passes: { maySave(request, past: $0, $1) }) {
            place throws(TokenKeepError) in
            var request = request
            // Only the first module that saves the item checks the precondition. That save changes the item's version,
            // so the same check would fail in a later module.
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
    /// A save with a precondition never continues, because only one module checks the precondition. After an outage of
    /// a module, a save with the action `bad` does not continue, because a later load would find the older value of
    /// this module.
    private func maySave(_ request: SaveRequest, past error: TokenKeepError, _ action: StackAction) -> Bool {
        guard request.precondition == .none else { return false }
        switch error.status {
        case .unavailable, .timedOut, .notFound: return action != .bad
        default: return true
        }
    }

    /// Completes a save request with the level of the existing item, and checks the precondition against this item.
    ///
    /// - Throws: the error of the precondition. If the save has a precondition, also the failure of a module that a
    ///   load asks before it finds the item. ``Status/locked`` if the request has no level and the item is locked.
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
                    // A save without a level keeps the item's level, but a locked item's level is unknown, so the save
                    // fails.
                    guard error.status != .locked else { throw error }
                }
            }
            return request
        }
        let found = try findForCondition(request.name, call)
        try request.check(present: found.details)
        guard let details = found.details, let first = places.first?.module.name else { return request }
        request.inherited = details
        // The precondition was checked against another module's item. The save in the first module checks only that
        // this module still has no item, if it had none.
        if details.module != first { request.precondition = found.absent.contains(first) ? .absent : .none }
        return request
    }

    private func removeCopies(
        of name: ItemName, below place: Place, except taken: Set<String>, _ call: CallContext
    ) throws(TokenKeepError) {
        let below = operations.places.drop { $0.module.name != place.module.name }.dropFirst()
        // If the stack has no `clear` line for a module, the copy in that module is kept.
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
