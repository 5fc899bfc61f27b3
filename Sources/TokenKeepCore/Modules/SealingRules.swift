// The rules that decide which items the vault seals (encrypts) for plugins and for the Secret Service.

extension SecretSealer {
    /// Whether the vault seals an item that a module is about to save.
    ///
    /// - Parameters:
    ///   - own: the protection that the module gives an item without a seal; nil if unknown.
    ///   - isAcknowledged: whether an earlier save of the sealed item was acknowledged. The item's protection
    ///     requirement was met at that save and is not checked again.
    /// - Throws: ``Status/policy`` if neither the module nor sealing meets the item's protection requirement;
    ///   ``Status/corrupt`` if the vault whose key the level needs does not exist; the errors of reading the vault.
    package func seals(
        _ details: ItemDetails, besides own: Protection?, isAcknowledged: Bool
    ) throws(TokenKeepError) -> Bool {
        let (level, flags) = (details.accessLevel, details.flags)
        guard Protection.isAsked(by: level, flags) else { return false }
        let isSealed = try sealsItems(of: level)
        // A vault without a password seals no items of a level that needs no device. The module then stores the item
        // unsealed if the module's own protection is enough.
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
    /// The error if a module returns an unsealed item although the vault sealed the item for that module.
    package static func standsInPlace(ofSealed name: ItemName) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "another item stands in the place of \(name), which the vault sealed", module: "vault",
            hint: "nothing was deleted; save the item anew, or clear it")
    }

    /// The error if the vault whose key sealed an item does not exist.
    package static var noSealingVault: TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault whose keys seal items is not there", module: "vault", hint: "restore it from a backup")
    }
}
