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

    /// Whether it is noted that the service may hold an item sealed.
    func isNoted(_ name: ItemName) -> Bool { sealer?.hasNote(of: name) ?? false }

    /// Whether the service may hold sealed items, noted or not; also where the vault cannot be read.
    var mayBeThere: Bool { sealer?.mayHaveSealed ?? false }

    /// Whether the service's item must be a sealed one: it was given sealed.
    func isHeldSealed(_ name: ItemName, in module: String) throws(TokenKeepError) -> Bool {
        try sealer?.isHeldSealed(name, by: module) ?? false
    }

    /// The vault that seals an item that is saved now; nil where it is not sealed.
    ///
    /// - Throws: ``Status/policy`` where an item's demands are met neither way, unless it was acknowledged elsewhere; and why
    ///   the vault cannot be read.
    func vaultID(for details: ItemDetails, isAcknowledged: Bool) throws(TokenKeepError) -> String? {
        let (level, flags) = (details.accessLevel, details.flags)
        guard Protection.isAsked(by: level, flags), let sealer else { return nil }
        let isSealed = try sealer.sealsItems()
        if !flags.isDisjoint(with: .requirements), !isAcknowledged || !isSealed {
            try sealer.protection(of: level, flags).checkRequirements(of: details)
        }
        guard isSealed else { return nil }
        guard let vaultID = try sealer.vaultID() else { throw ItemSealing.noVault }
        return vaultID
    }

    /// Whether what another vault sealed does not concern this store: nothing here opens or replaces it.
    ///
    /// - Throws: why the vault cannot be read: then it may be ours.
    func isAnothers(_ item: StoredItem) throws(TokenKeepError) -> Bool {
        guard let sealedBy = item.sealedBy else { return false }
        return try sealer?.vaultID() != sealedBy
    }

    /// Notes that the service does not hold an item sealed any more.
    ///
    /// A note that stays keeps old keys in the header until it goes: no reason to call what was done not done.
    func forget(_ name: ItemName, in module: String, everywhere: Bool) {
        try? sealer?.forget(name, in: module, everywhere: everywhere)
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

    private static let noVault = TokenKeepError(
        .corrupt, "the vault whose keys seal items is not there", module: "vault")
}
