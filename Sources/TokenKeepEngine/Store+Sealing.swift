package import TokenKeepCore
package import TokenKeepKeys
package import TokenKeepRecords

extension Store: SealedPlaces {
    /// How long another process may hold one item, in milliseconds.
    private static let patience: UInt32 = 5000
    /// How long giving one item back to its module may take, in milliseconds.
    private static let settling: UInt32 = 60_000

    /// See ``SealedPlaces``.
    package func sealedItems(_ call: CallContext) -> [(module: String, name: ItemName)] {
        var seen: Set<String> = []
        var found: [(module: String, name: ItemName)] = []
        for place in dispatcher.programs.places where seen.insert(place.module.name).inserted {
            found += place.module.sealedItems(call).map { (place.module.name, $0) }
        }
        return found
    }

    /// See ``SealedPlaces``. The item goes through its record, as a save in several steps does: an interruption, or a message
    /// that arrives late, is settled like every other.
    package func sealAnew(
        _ name: ItemName, in module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SealedAnew {
        let place = try place(module)
        guard let reconciler else { return .absent }
        let call = call.withoutPrompts
        let lock = call.until(Deadline(milliseconds: Store.patience))
        let outcome = try records.change(name, lock) {
            entry, keys throws(TokenKeepError) -> (JournalChange, SealedAnew) in
            if case .unreadable(let error) = entry {
                throw TokenKeepError(.unavailable, "\(name): \(error.message)", module: "vault", hint: error.hint)
            }
            if let record = entry.record, reconciler.pending.owes(record, to: module) { return (.keep, .recorded) }
            let item = try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try place.load(name, call) }
            guard let item, !item.details.isForeign else { return (.keep, .absent) }
            guard entry.record == nil else {
                // It has a value of its own, which must stay.
                _ = try place.save(try SaveRequest(item), call)
                return (.keep, .done)
            }
            return (reconciler.writingAhead(item, to: place, keys), .recorded)
        }
        guard case .recorded = outcome else { return outcome }
        let left = try? reconciler.settle(name, call.until(Deadline(milliseconds: Store.settling)))
        return left?.isEmpty == true ? .done : .recorded
    }

    /// See ``SealedPlaces``.
    package func clear(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, call)
    }

    private func place(_ name: String) throws(TokenKeepError) -> any Module {
        guard let place = dispatcher.programs.places.first(where: { $0.module.name == name }) else {
            throw TokenKeepError(
                .unavailable, "the stack has no module \(name), which holds items that the vault sealed", module: name,
                hint:
                    "tokenkeep unlock with a stack that has it; or, where its items are given up: tokenkeep forget \(name)"
            )
        }
        return place.module
    }
}
