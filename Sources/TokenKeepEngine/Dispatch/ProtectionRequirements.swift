import TokenKeepCore

/// Compares the protection that a stack's modules provide with the protection that an item requires.
struct ProtectionRequirements {
    let dispatcher: Dispatcher
    /// Encrypts (seals) items for modules that support sealing; nil if there is no vault.
    let sealer: (any SecretSealer)?

    /// Whether a module may store an item with this level and these flags (see ``Protection/isEnough(for:_:beside:)``).
    func areMet(by module: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        guard !module.holdsRecords, Protection.isAsked(by: level, flags) else { return true }
        // The device's key protects an item in any module, but only if the item is sealed.
        guard !level.needsDevice || isSealed(in: module, level, flags) else { return false }
        let given = protection(by: module, level, flags)
        return given.isEnough(for: level, flags, beside: vaultPlace?.protection(of: level, flags))
    }

    /// Throws if a module does not meet the protection requirement of an item to be saved.
    ///
    /// - Throws: ``Status/policy`` if neither the module nor sealing meets the requirement.
    func check(_ request: SaveRequest, in module: any Module) throws(TokenKeepError) {
        let level = request.accessLevel ?? request.inherited?.accessLevel ?? .afterFirstUnlock
        guard level.needsDevice || !request.flags.isDisjoint(with: .requirements),
            !areMet(by: module, level, request.flags)
        else { return }
        throw TokenKeepError(
            .policy, "\(module.name) cannot meet the protection requirement of \(request.name)", module: module.name,
            hint: "use a stack whose vault takes such items: any required vault")
    }

    private var vaultPlace: (any Module)? {
        dispatcher.places(for: .save).map(\.module).first(where: \.holdsRecords)
    }

    /// Whether the stack has a `save` line for the vault.
    var hasVault: Bool { vaultPlace != nil }

    /// The protection that an item of this level has in the stack: for each threat, the weakest protection by a module
    /// that may save the item.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection {
        let modules = dispatcher.places(for: .save).map(\.module).filter { areMet(by: $0, level, flags) }
        let given = modules.map { protection(by: $0, level, flags) }
        guard let first = given.first else {
            return Protection(none: "no module of the stack keeps such an item")
        }
        return given.dropFirst().reduce(first) { $0.weaker($1) }
    }

    /// The protection that a module provides for an item.
    ///
    /// If the module's protection does not suffice and the vault has a password, the vault seals (encrypts) the item,
    /// and the result is the protection of a sealed item.
    private func protection(by module: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Protection {
        if isSealed(in: module, level, flags), let sealed = try? sealer?.protection(of: level, flags) { return sealed }
        return module.protection(of: level, flags) ?? ProtectionRequirements.unknown(module)
    }

    /// Whether the vault seals items of this level and with these flags for a module.
    private func isSealed(in module: any Module, _ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        module.supportsSealing && Protection.isAsked(by: level, flags) && (try? sealer?.sealsItems(of: level)) == true
    }

    private static func unknown(_ module: any Module) -> Protection {
        Protection(none: "\(module.name) states nothing")
    }
}
