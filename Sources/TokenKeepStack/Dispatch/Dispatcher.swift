import TokenKeepCore

/// Asks the modules of a stack in their order and joins their answers.
struct Dispatcher: Sendable {
    /// A module and the line that names it.
    struct Place: Sendable {
        let line: StackLine
        let module: any Module
    }

    /// The places of the stack, behind the implicit memory of the store.
    let places: [Place]
    /// Holds memory-only items; stands before every stack.
    let memory: MemoryModule

    /// The first item found; otherwise the worst failure met.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        if let item = memory.item(name) { return item }
        return try load(name, from: places(for: .load), call)
    }

    /// Clears the item everywhere.
    ///
    /// - Parameter version: where given, only if the item a load finds has it.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let places = places(for: .clear)
        if let version, places.count == 1, memory.item(name) == nil {
            return try places[0].module.clear(name, ifVersion: version, call)
        }
        if let version {
            try SaveRequest.check(version: version, of: name, present: loadIfThere(name, call)?.details)
        }
        var walk = Walk()
        var wasThere = try memory.clear(name, ifVersion: nil, call)
        for place in places {
            do throws(TokenKeepError) {
                wasThere = try place.module.clear(name, ifVersion: nil, call) || wasThere
            } catch {
                walk.met(error, as: place.line.control)
                if Walk.ends(with: error, as: place.line.control) { break }
            }
        }
        if let worst = walk.worst { throw worst }
        return wasThere
    }

    /// The union of what the modules list; an item listed twice counts once, from the earlier module.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        var walk = Walk()
        var names: Set<ItemName> = []
        var items: [ItemDetails] = []
        var answered = false
        func add(_ listing: ItemListing) {
            items += listing.items.filter { names.insert($0.name).inserted }
        }
        add(memory.listing(namespace: namespace, service: service))
        for place in places(for: .list) {
            do throws(TokenKeepError) {
                let listing = try place.module.list(namespace: namespace, service: service, call)
                add(listing)
                if let problem = listing.problem { walk.met(problem, as: place.line.control) }
                answered = true
            } catch {
                walk.met(error, as: place.line.control)
                if Walk.ends(with: error, as: place.line.control) { break }
            }
        }
        if !answered, let worst = walk.worst { throw worst }
        return ItemListing(items: items.sorted { $0.name < $1.name }, problem: walk.worst)
    }

    func places(for operation: StackLine.Operation) -> [Place] {
        places.filter { $0.line.applies(to: operation) }
    }

    /// The item, or nil where every place answered that it has none.
    func loadIfThere(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try load(name, call) }
    }

    static func unlessNotFound<Result>(
        _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result? {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    private func load(
        _ name: ItemName, from places: [Place], _ call: CallContext
    ) throws(TokenKeepError) -> TokenItem {
        var walk = Walk()
        for place in places {
            do throws(TokenKeepError) {
                return try place.module.load(name, call)
            } catch {
                walk.met(error, as: place.line.control)
                if Walk.ends(with: error, as: place.line.control) { break }
            }
        }
        throw walk.worst ?? TokenKeepError(.notFound, "no item \(name)")
    }
}
