package import TokenKeepCore

/// What became of an item that a module may hold sealed, when it was to be sealed anew.
package enum SealedAnew: Sendable {
    /// The module has it under the present keys, or as it is where it need not be sealed any more.
    case done
    /// Its record has a newer value or its removal, and owes that to the module: what the module holds is not needed.
    case recorded
    /// The module has none.
    case absent
}

/// The modules for which a vault seals secrets, as the vault reaches them when its keys are replaced.
package protocol SealedPlaces: Sendable {
    /// The sealed items that the modules which answer know of, with their modules' names.
    func sealedItems(_ call: CallContext) -> [(module: String, name: ItemName)]

    /// Seals an item anew, under the current keys.
    ///
    /// - Throws: what keeps it from being so, ``Status/unavailable`` where there is no such module; ``Status/corrupt`` of the
    ///   module `vault` where no key opens it.
    func sealAnew(_ name: ItemName, in module: String, _ call: CallContext) throws(TokenKeepError) -> SealedAnew

    /// Clears an item everywhere.
    func clear(_ name: ItemName, _ call: CallContext) throws(TokenKeepError)
}

/// Gives the modules, as long as they are there.
package typealias SealedPlacesProvider = @Sendable () -> (any SealedPlaces)?
