package import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Calls that never prompt, for a caller that holds a lock: another process waits for the lock as long as a prompt is open.
extension Store {
    /// ``load(service:account:until:)`` without prompts.
    package func loadWithoutPrompts(_ name: ItemName, until deadline: Deadline) throws(TokenKeepError) -> TokenItem {
        let call = try begin(.load, until: deadline).withoutPrompts
        return try unlocking(call, for: name) { call throws(TokenKeepError) in try load(name, call) }
    }

    /// ``save(_:until:)`` without prompts.
    ///
    /// - Parameter lease: the keys that seal the item even if the vault was locked since; nil for none.
    @discardableResult
    package func saveWithoutPrompts(
        _ request: SaveRequest, until deadline: Deadline? = nil, _ lease: SealingLease? = nil
    ) throws(TokenKeepError) -> SaveOutcome {
        try save(request, begin(.save, until: deadline).withoutPrompts.leasing(lease))
    }

    /// ``clear(service:account:until:)`` without prompts.
    package func clearWithoutPrompts(_ name: ItemName, until deadline: Deadline? = nil) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, begin(.clear, until: deadline).withoutPrompts)
    }

    /// A lease of the keys that seal items of the levels; nil if the vault has no password, or is locked.
    package func sealingLease(of levels: Set<AccessLevel>) -> SealingLease? {
        (try? records.open())?.keys.lease(of: levels)
    }

    /// Asks the user to open the place that answered LOCKED, if prompts are allowed. The caller holds no lock.
    ///
    /// - Returns: whether the user was asked.
    /// - Throws: ``Status/cancelled``, ``Status/denied`` and others if the place stays locked.
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
