import TokenKeepCore

/// Which secrets are sealed by a vault before the service gets them, and by which.
struct ItemSealing: Sendable {
    /// nil where nothing is sealed.
    let sealer: (any SecretSealer)?

    /// What can be said of any service: which of them answers, and whether its collection has a password, is not seen.
    static let ofService = Protection { axis in
        switch axis {
        case .otherUser: Protection.Axis(.advisory, "the Secret Service answers on the user's own bus")
        case .diskTheft: Protection.Axis(.advisory, "the Secret Service encrypts its keyring, if that has a password")
        case .otherMachine: Protection.Axis(.none, "a copy of the keyring opens anywhere with its password")
        case .screenLock: Protection.Axis(.none, "the keyring stays open while the screen is locked")
        case .presence: Protection.Axis(.none, "nobody is asked while the keyring is open")
        }
    }

    /// Whether the service may hold sealed items.
    var mayBeThere: Bool { sealer?.mayHaveSealed ?? false }

    /// What sealing an item achieves; nil where it is not sealed: the service is enough, or the vault gives no more.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        guard Protection.isAsked(by: level, flags), let sealed = sealer?.protection(of: level, flags),
            !ItemSealing.ofService.isEnough(for: level, flags, beside: sealed),
            sealed.isEnough(for: level, flags, beside: sealed)
        else { return nil }
        return sealed
    }

    /// The vault that seals an item that is saved now; nil where it is not sealed.
    ///
    /// - Throws: ``Status/policy`` where an item's demands are met neither way.
    func vaultID(for details: ItemDetails) throws(TokenKeepError) -> String? {
        let (level, flags) = (details.accessLevel, details.flags)
        guard Protection.isAsked(by: level, flags), let sealer else { return nil }
        guard protection(of: level, flags) == nil else { return sealer.vaultID }
        guard !flags.isDisjoint(with: .demands) else { return nil }
        try (sealer.protection(of: level, flags) ?? ItemSealing.ofService).checkDemands(of: details)
        return nil
    }

    /// Whether what another vault sealed does not concern this store: nothing here opens or replaces it.
    func isAnothers(_ item: StoredItem) -> Bool {
        guard let sealedBy = item.sealedBy else { return false }
        return sealer?.vaultID != sealedBy
    }

    func seal(
        _ secret: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let sealer else { throw ItemSealing.noVault }
        return try sealer.seal(secret, of: details, for: details.module, call)
    }

    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let sealer else { throw ItemSealing.noVault }
        return try sealer.open(sealed, of: details, call)
    }

    private static let noVault = TokenKeepError(.internal, "a sealed item was found where nothing seals")
}
