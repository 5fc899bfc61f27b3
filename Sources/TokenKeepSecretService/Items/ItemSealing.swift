import TokenKeepCore

/// Decides which secrets the vault seals (encrypts) for the service, and checks which vault sealed an item.
struct ItemSealing: Sendable {
    /// Seals and opens secrets with the vault's keys; nil if this call has no sealer.
    let sealer: (any SecretSealer)?

    /// The protection that every Secret Service gives.
    ///
    /// The module knows neither which service answers nor whether the service's collection has a password.
    static let ofService = Protection { axis in
        switch axis {
        case .otherUser: Protection.Axis(.advisory, "the Secret Service answers on the user's own bus")
        case .diskTheft: Protection.Axis(.advisory, "the Secret Service encrypts its keyring, if that has a password")
        case .otherMachine: Protection.Axis(.none, "a copy of the keyring opens anywhere with its password")
        case .screenLock: Protection.Axis(.none, "the keyring stays open while the screen is locked")
        case .presence: Protection.Axis(.none, "nobody is asked while the keyring is open")
        }
    }

    /// Whether the vault's record of the item lists a sealed copy in any module.
    func hasSealedCopy(of name: ItemName) -> Bool { sealer?.hasSealedCopy(of: name) ?? false }

    /// The searches that together find an item. They include the searches for a sealed item if the vault's record lists
    /// a sealed copy.
    func searches(for name: ItemName) -> [[String: String]] {
        ItemCoding.searches(for: name, maybeSealed: name.namespace.isEmpty && hasSealedCopy(of: name))
    }

    /// Whether the service may hold sealed items, even if no record lists them. True if the vault is unreadable.
    var mayBeThere: Bool { sealer?.mayHaveSealed ?? false }

    /// Whether TokenKeep gave the service a sealed item of this name, so that a plain item does not count.
    func isHeldSealed(_ name: ItemName, in module: String) throws(TokenKeepError) -> Bool {
        try sealer?.isHeldSealed(name, by: module) ?? false
    }

    /// The ID of the vault that must seal the item before a save; nil if the item is stored unsealed.
    ///
    /// - Throws: the errors of ``SecretSealer/seals(_:besides:isAcknowledged:)``.
    func vaultID(for details: ItemDetails, isAcknowledged: Bool) throws(TokenKeepError) -> String? {
        guard let sealer,
            try sealer.seals(details, besides: ItemSealing.ofService, isAcknowledged: isAcknowledged)
        else { return nil }
        guard let vaultID = try sealer.vaultID() else { throw TokenKeepError.noSealingVault }
        return vaultID
    }

    /// Whether another vault sealed the item, so that this store must neither open nor replace it.
    ///
    /// - Throws: the error that makes the vault unreadable, because the item may belong to this vault.
    func isAnothers(_ item: StoredItem) throws(TokenKeepError) -> Bool {
        guard let sealedBy = item.sealedBy else { return false }
        return try sealer?.vaultID() != sealedBy
    }

    /// Removes the service's sealed copy from the item's record.
    ///
    /// A failure is ignored: a superfluous entry in the record only keeps old keys in the vault's header.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) {
        try? sealer?.forget(name, in: module, everywhere: everywhere)
    }

    func seal(
        _ secret: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let sealer else { throw TokenKeepError.noSealingVault }
        return try sealer.seal(secret, of: details, for: details.module, call)
    }

    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let sealer else { throw TokenKeepError.noSealingVault }
        return try sealer.open(sealed, of: details, call)
    }
}
