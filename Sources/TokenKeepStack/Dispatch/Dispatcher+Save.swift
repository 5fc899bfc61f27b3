import TokenKeepCore

extension Dispatcher {
    /// Saves in the first place that takes it; copies further down go.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        if let item = memory.item(request.name) {
            return try save(request, over: item, call)
        }
        if request.accessLevel == .memoryOnly {
            return try saveInMemory(request, call)
        }
        return try saveInPlaces(request, call)
    }

    /// A memory-only item is what the caller sees: its level is kept and its version counts, until a save with another
    /// level replaces it.
    private func save(
        _ request: SaveRequest, over item: TokenItem, _ call: CallContext
    ) throws(TokenKeepError) -> UInt64 {
        guard let level = request.accessLevel, level != .memoryOnly else { return try memory.save(request, call) }
        try request.check(present: item.details)
        var request = request
        request.precondition = .none
        let version = try saveInPlaces(request, call)
        _ = try memory.clear(request.name, ifVersion: nil, call)
        return version
    }

    /// Saving a memory-only item removes nothing from the places below.
    private func saveInMemory(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        var request = request
        if request.precondition != .none {
            try request.check(present: loadIfThere(request.name, call)?.details)
            request.precondition = .none
        }
        return try memory.save(request, call)
    }

    private func saveInPlaces(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let places = places(for: .save)
        let request = places.count > 1 ? try settled(request, for: places, call) : request
        var walk = Walk()
        for place in places {
            do throws(TokenKeepError) {
                let version = try place.module.save(request, call)
                try removeCopies(of: request.name, below: place, call)
                return version
            } catch {
                walk.met(error, as: .required)
                guard place.line.control == .optional, !Walk.ends(with: error, as: .optional) else { throw error }
            }
        }
        throw walk.worst ?? TokenKeepError(.unsupported, "no module of the stack saves items")
    }

    /// Settles what one module alone cannot know: whether the item is in another, with which version and level.
    ///
    /// An item that another module may hold but cannot be asked for fails a precondition rather than passing it.
    private func settled(
        _ request: SaveRequest, for places: [Place], _ call: CallContext
    ) throws(TokenKeepError) -> SaveRequest {
        var request = request
        if request.precondition == .none {
            guard request.accessLevel == nil else { return request }
            for place in places.dropFirst() where request.inherited == nil {
                request.inherited = try? place.module.load(request.name, call).details
            }
            return request
        }
        for (index, place) in places.enumerated() {
            let item = try Dispatcher.unlessNotFound { () throws(TokenKeepError) in
                try place.module.load(request.name, call)
            }
            guard let item else { continue }
            try request.check(present: item.details)
            if index == 0 { return request }  // the first place checks again, in one step with its save
            request.inherited = item.details
            request.precondition = .absent
            return request
        }
        try request.check(present: nil)
        return request
    }

    private func removeCopies(
        of name: ItemName, below place: Place, _ call: CallContext
    ) throws(TokenKeepError) {
        let below = places.drop { $0.module.name != place.module.name }.dropFirst()
        for other in below where other.module.name != place.module.name {
            do throws(TokenKeepError) {
                _ = try other.module.clear(name, ifVersion: nil, call)
            } catch {
                throw TokenKeepError(
                    error.status,
                    "\(name) was saved in \(place.module.name), but its older copy in \(other.module.name) could not be removed: \(error.message)",
                    module: other.module.name, hint: error.hint)
            }
        }
    }
}
