// The rules for every module in which the vault seals (encrypts) items: plugins and the Secret Service.

extension SecretSealer {
    /// Whether the vault seals an item that a module is about to save.
    ///
    /// - Parameters:
    ///   - own: the protection that the module gives an item by itself.
    ///   - isAcknowledged: whether a save of the sealed item was acknowledged before. The item's protection requirement
    ///     was met then, and is not checked again.
    /// - Throws: ``Status/policy`` if neither the module nor sealing the item meets the item's protection requirement;
    ///   ``Status/corrupt`` if the vault whose key the level needs is not there; any failure to read the vault.
    package func seals(
        _ details: ItemDetails, besides own: Protection?, isAcknowledged: Bool
    ) throws(TokenKeepError) -> Bool {
        let (level, flags) = (details.accessLevel, details.flags)
        guard Protection.isAsked(by: level, flags) else { return false }
        let isSealed = try sealsItems(of: level)
        // Without a password, a vault with a device seals no item of this level: the module alone may suffice.
        if !isSealed, !level.needsDevice, own?.isEnough(for: level, flags, beside: nil) == true { return false }
        if !flags.isDisjoint(with: .requirements), !isAcknowledged || !isSealed {
            try protection(of: level, flags).checkRequirements(of: details)
        }
        // Without the vault's key for the level, the item could be copied to another machine.
        guard isSealed || !level.needsDevice else { throw .noSealingVault }
        return isSealed
    }
}

extension TokenKeepError {
    /// The error for a plain item in a module that the vault has given the item sealed.
    package static func standsInPlace(ofSealed name: ItemName) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "another item stands in the place of \(name), which the vault sealed", module: "vault",
            hint: "nothing was deleted; save the item anew, or clear it")
    }

    /// The error for a sealed item without the vault whose key sealed it.
    package static var noSealingVault: TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault whose keys seal items is not there", module: "vault", hint: "restore it from a backup")
    }
}
