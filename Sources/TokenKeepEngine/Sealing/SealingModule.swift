import TokenKeepCore

/// Wraps a plugin module (an installed shared object or program), and seals (encrypts) items for it with the vault's
/// keys.
///
/// An item that requires more protection than the module provides is sealed. The module stores the sealed bytes like
/// any other secret.
struct SealingModule: ModuleWrapper {
    let base: any Module
    let versionKey: @Sendable () throws(TokenKeepError) -> ItemVersionKey

    var supportsSealing: Bool { true }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try opened(try base.load(name, call), call)
    }

    /// Decrypts an item if the item is sealed. Throws ``Status/corrupt`` if the vault sealed the item but the module
    /// returns an unsealed item.
    private func opened(_ item: TokenItem, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        guard let sealer = call.sealer else { return item }
        let name = item.details.name
        guard let vault = sealer.vaultID(ofSealed: item.secret) else {
            guard try sealer.isHeldSealed(name, by: self.name) else { return item }
            throw .standsInPlace(ofSealed: name)
        }
        guard try sealer.vaultID() == vault else {
            throw TokenKeepError(.notFound, "no item \(name): another vault sealed it", module: self.name)
        }
        var details = item.details
        let secret = try sealer.open(item.secret, of: details, call)
        details.isSealed = true
        details.version = try versionKey().version(of: details, secret: secret)
        return TokenItem(details: details, secret: secret)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        guard let sealer = call.sealer else { return try base.save(request, call) }
        // After the password or the device was removed, the module may still have the item sealed. The precondition,
        // and the level that the save keeps, are then checked here.
        let needsPresent = request.precondition != .none || request.accessLevel == nil
        let mayBeSealed = needsPresent && sealer.hasSealedCopy(of: request.name)
        guard try sealer.sealsItems(of: nil) || mayBeSealed else { return try savePlain(request, sealer, call) }
        let present = try itemToReplace(by: request, call)
        try request.check(present: present)
        var details = request.details(replacing: present, module: name)
        if !request.mayLowerRequirements { try details.checkLowersNothing(of: present, module: name) }
        var plain = request
        // The precondition was checked above. The wrapped module could not check it, because it knows only the version
        // of the sealed item.
        plain.precondition = .none
        let own = base.protection(of: details.accessLevel, details.flags)
        guard try sealer.seals(details, besides: own, isAcknowledged: request.mayLowerRequirements) else {
            return try savePlain(plain, sealer, call)
        }
        details.version = try versionKey().version(of: details, secret: request.secret)
        let sealed = try sealer.seal(request.secret, of: details, for: name, call)
        var stored = try SaveRequest(
            name: request.name, secret: sealed, accessLevel: details.accessLevel, flags: details.flags,
            label: request.label, attributes: request.attributes, expiresAt: request.expiresAt)
        stored.inherited = request.inherited
        _ = try base.save(stored, call)
        sealer.acknowledge(request.name, in: name)
        return details.version
    }

    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try save(request, call.withoutPrompts)
    }

    /// The metadata of the item that a save replaces; nil if there is no such item.
    ///
    /// A save without a precondition also replaces a damaged item. It also replaces an unsealed item where the record
    /// lists a sealed copy, which happens if the module did not answer the save of the sealed item.
    private func itemToReplace(
        by request: SaveRequest, _ call: CallContext
    ) throws(TokenKeepError) -> ItemDetails? {
        do throws(TokenKeepError) {
            return try loadIfThere(request.name, call)?.details
        } catch {
            guard request.precondition == .none, error.status == .corrupt, error.module == "vault" else { throw error }
            return try base.loadIfThere(request.name, call)?.details
        }
    }

    private func savePlain(
        _ request: SaveRequest, _ sealer: any SecretSealer, _ call: CallContext
    ) throws(TokenKeepError) -> UInt64 {
        let version = try base.save(request, call)
        if sealer.hasSealedCopy(of: request.name) { try? sealer.forget(request.name, in: name, everywhere: false) }
        return version
    }

    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        if version != nil {
            try SaveRequest.check(version: version, of: name, present: loadIfThere(name, call)?.details)
        }
        let wasThere = try base.clear(name, ifVersion: nil, call)
        try? call.sealer?.forget(name, in: self.name, everywhere: true)
        return wasThere
    }

    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        try base.clearOwn(name, call)
        try? call.sealer?.forget(name, in: self.name, everywhere: true)
    }
}
