import TokenKeepCore

/// Asks the modules of a stack in their order, and combines their answers.
struct Dispatcher: Sendable {
    /// A module, with the stack's line that names the module.
    struct Place: Sendable {
        let line: StackLine
        let module: any Module
    }

    /// The stack's lines for each operation, without the store's memory module.
    let operations: StackOperations
    /// Holds memory-only items. A load looks here before it asks the stack's modules.
    let memory: MemoryModule
    /// Receives an event for each module's answer; nil for no trace.
    var trace: StackTraceHandler?

    /// Loads the item from the first module that has the item. If no module has the item, throws the worst failure.
    ///
    /// - Parameter emptied: the names of modules to treat as empty, because the removal of the item's service is
    ///   pending for them.
    func load(
        _ name: ItemName, _ call: CallContext, emptied: Set<String> = []
    ) throws(TokenKeepError) -> TokenItem {
        if let item = memory.item(name) {
            trace?(.aside(.load, name, memory, .ok, "a memory-only item comes before the stack"))
            return item
        }
        let walk = walk(.load, name.description) { place throws(TokenKeepError) in
            guard !emptied.contains(place.module.name) else {
                throw TokenKeepError(.notFound, "the removal of \(name.service) is pending")
            }
            return Answered(value: try place.module.load(name, call))
        }
        if let item = walk.answers.first { return item }
        if !operations[.load].asksModules { throw Dispatcher.noModule("loads") }
        throw walk.failure(of: name)
    }

    /// Clears the item from every module with a `clear` line.
    ///
    /// - Parameters:
    ///   - version: the version that the item must have; nil clears any version.
    ///   - passesOutages: whether an outage of a deferrable module is handled by the action of the module's line. If
    ///     false, the clear throws the error of the outage.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, passesOutages: Bool = true, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let places = places(for: .clear)
        var holder = places.first?.module.name
        let isAlone = places.count == 1 && self.places(for: .load).modules.map(\.name) == [holder]
        if let version, !isAlone {
            let present = try findForCondition(name, call).details
            try SaveRequest.check(version: version, of: name, present: present)
            holder = present?.module
        }
        var wasThere = false
        var ignored: TokenKeepError?
        var outage: TokenKeepError?
        let walk = walk(.clear, name.description) { place throws(TokenKeepError) in
            do throws(TokenKeepError) {
                // The module whose item a load would return compares the version again, in the same step as the
                // removal.
                let version = place.module.name == holder ? version : nil
                // After one module has removed the item, the other modules must remove it, too, so a cancellation is
                // ignored from then on.
                let call = wasThere ? call.withoutCancellation : call
                wasThere = try place.module.clear(name, ifVersion: version, call) || wasThere
                return Answered(value: ())
            } catch {
                ignored = error
                if place.module.supportsPendingWrites, Decisions.isOutage(error.status) { outage = outage ?? error }
                throw error
            }
        }
        if let failure = walk.failure { throw failure }
        if !passesOutages, let outage { throw outage }
        // If the stack's only module failed before it checked the version, the clear must fail, too.
        if version != nil, places.count == 1, let ignored { throw ignored }
        if places.isEmpty { throw Dispatcher.noModule("clears") }
        return wasThere
    }

    /// Combines the listings of the modules. An item in several listings is returned once, from the earliest module.
    ///
    /// - Parameter isRemoved: whether to leave out a listed item, because its removal is pending.
    func list(
        namespace: String, service: String?, _ call: CallContext,
        except isRemoved: (ItemDetails) -> Bool = { _ in false }
    ) throws(TokenKeepError) -> ItemListing {
        let walk = walk(.list, service ?? "all services") { place throws(TokenKeepError) in
            do throws(TokenKeepError) {
                var listing = try place.module.list(namespace: namespace, service: service, call)
                listing.items.removeAll(where: isRemoved)
                return Answered(value: listing, problem: listing.problem)
            } catch {
                throw error.inModule(place.module.name)
            }
        }
        if walk.answers.isEmpty, let failure = walk.failure { throw failure }
        var names: Set<ItemName> = []
        let listings = [memory.listing(namespace: namespace, service: service)] + walk.answers
        let items = listings.flatMap(\.items).filter { names.insert($0.name).inserted }
        let problem = operations[.list].asksModules ? walk.failure : Dispatcher.noModule("lists")
        var listing = ItemListing(items: items.sorted { $0.name < $1.name }, problem: problem)
        for problem in walk.failures + walk.answers.flatMap(\.problems) { listing.count(problem) }
        return listing
    }

    func places(for operation: StackLine.Operation) -> [Place] {
        operations[operation].places
    }

    /// Loads the item; nil if every module answered that it does not have the item.
    func loadIfThere(
        _ name: ItemName, _ call: CallContext, emptied: Set<String> = []
    ) throws(TokenKeepError) -> TokenItem? {
        try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try load(name, call, emptied: emptied) }
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

    /// The error for an operation for which the stack has no line, so that no module can be asked.
    static func noModule(_ does: String) -> TokenKeepError {
        TokenKeepError(.unsupported, "no module of the stack \(does) items")
    }
}

extension Module {
    /// Loads the item; nil if the module does not have the item.
    func loadIfThere(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try load(name, call) }
    }
}

extension Sequence<Dispatcher.Place> {
    /// The modules of these lines, in the order of the stack and without repetitions.
    var modules: [any Module] {
        var seen: Set<String> = []
        return map(\.module).filter { seen.insert($0.name).inserted }
    }
}
