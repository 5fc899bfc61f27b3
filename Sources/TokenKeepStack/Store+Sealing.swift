package import TokenKeepCore
import TokenKeepVault

extension Store: SealedPlaces {
    /// How long another process may hold one item, in milliseconds.
    private static let patience: UInt32 = 5000

    /// See ``SealedPlaces``.
    package func sealedItems(in module: String, _ call: CallContext) throws(TokenKeepError) -> [ItemDetails] {
        try place(module).sealedItems(call)
    }

    /// See ``SealedPlaces``. What is owed for the item is settled first: a date that changes must not look like a change by
    /// another program.
    package func sealAnew(
        _ name: ItemName, in module: String, _ call: CallContext
    ) throws(TokenKeepError) {
        let place = try place(module)
        let call = call.until(Deadline(milliseconds: Store.patience)).withoutPrompts
        _ = try reconciler?.settle(name, call)
        try vault.change(name, call) { entry, _ throws(TokenKeepError) in
            guard entry.record?.debts.contains(where: { $0.module == module }) != true else {
                throw TokenKeepError(.unavailable, "\(name) is still owed to \(module)", module: module)
            }
            let item = try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try place.load(name, call) }
            if let item { _ = try place.save(try SaveRequest(item), call) }
            return (.keep, ())
        }
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
