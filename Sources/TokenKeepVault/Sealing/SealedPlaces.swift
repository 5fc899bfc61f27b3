package import TokenKeepCore

/// The modules for which a vault seals secrets, as the vault reaches them when its keys are replaced.
package protocol SealedPlaces: Sendable {
    /// The items of a module that the vault sealed.
    ///
    /// - Throws: where they cannot be told whole: ``Status/unavailable`` where there is no such module.
    func sealedItems(in module: String, _ call: CallContext) throws(TokenKeepError) -> [ItemDetails]

    /// Seals an item anew, under the current keys, or saves it as it is where it need not be sealed any more. Nothing is done
    /// where it is not there any more.
    func sealAnew(_ name: ItemName, in module: String, _ call: CallContext) throws(TokenKeepError)

    /// Clears an item everywhere.
    func clear(_ name: ItemName, _ call: CallContext) throws(TokenKeepError)
}

/// Gives the modules, as long as they are there.
package typealias SealedPlacesProvider = @Sendable () -> (any SealedPlaces)?
