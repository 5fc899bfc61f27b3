package import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Calls that never prompt, for callers that hold a lock: other processes would wait for the lock during a prompt.
extension Store {
    /// Loads an item like ``load(service:account:until:)``, but never prompts.
    package func loadWithoutPrompts(_ name: ItemName, until deadline: Deadline) throws(TokenKeepError) -> TokenItem {
        let call = try begin(.load, until: deadline).withoutPrompts
        return try unlocking(call, for: name) { call throws(TokenKeepError) in try load(name, call) }
    }

    /// Saves an item like ``save(_:until:)``, but never prompts.
    ///
    /// - Parameter lease: copies of the vault's keys, to encrypt the item even after the vault was locked; or nil.
    @discardableResult
    package func saveWithoutPrompts(
        _ request: SaveRequest, until deadline: Deadline? = nil, _ lease: SealingLease? = nil
    ) throws(TokenKeepError) -> SaveOutcome {
        try save(request, begin(.save, until: deadline).withoutPrompts.leasing(lease))
    }

    /// Clears an item like ``clear(service:account:until:)``, but never prompts.
    package func clearWithoutPrompts(_ name: ItemName, until deadline: Deadline? = nil) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, begin(.clear, until: deadline).withoutPrompts)
    }

    /// Copies of the keys for items of these levels, to be used even after the vault is locked (a lease).
    ///
    /// - Returns: nil if the vault is locked or has no password.
    package func sealingLease(of levels: Set<AccessLevel>) -> SealingLease? {
        (try? records.open())?.keys.lease(of: levels)
    }

    /// Asks the user to unlock the vault or the module that answered ``Status/locked``, if prompts are allowed.
    ///
    /// The caller must hold no lock.
    ///
    /// - Returns: whether the user was asked.
    /// - Throws: ``Status/cancelled``, ``Status/denied`` or another failure if the vault or module stays locked.
    package func askToOpen(
        _ name: ItemName, after error: TokenKeepError, until deadline: Deadline
    ) throws(TokenKeepError) -> Bool {
        let call = try begin(.any, until: deadline)
        guard error.status == .locked, call.promptsAllowed else { return false }
        if error.module == "vault" {
            guard prompt != nil else { return false }
            _ = try askForPassword(for: name, call)
            return true
        }
        guard let module = dispatcher.programs.places.modules.first(where: { $0.name == error.module }) else {
            return false
        }
        try module.prepare(call)
        return true
    }
}
