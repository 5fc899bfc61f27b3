public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Store {
    /// The time limit of a check, in milliseconds. The time begins after the unlock with the configuration's password.
    private static let readinessLimit: UInt32 = 2_000

    /// Checks, without a prompt, whether items can be loaded, or saved, at present. Changes no item.
    ///
    /// A program can call this before a sign-in, so that it does not request tokens that it could not save. The answer
    /// may change at any time.
    ///
    /// - Throws: ``Status/locked`` if a user must unlock the vault or the module first; ``Status/unavailable`` if no
    ///   module that may hold the items can be reached; ``Status/denied`` if the vault cannot be created in its
    ///   directory; otherwise the failure of a module.
    public func checkReady(forSaving: Bool, until deadline: Deadline? = nil) throws(TokenKeepError) {
        let operation = forSaving ? StackLine.Operation.save : .load
        let deadline = deadline ?? self.deadline
        // On a slow machine, deriving the password's key takes longer than the limit of the check, so the unlock comes
        // first.
        try unlocking.withGivenPassword(try begin(operation, until: deadline).withoutPrompts)
        let limit = deadline.within(milliseconds: Store.readinessLimit)
        let call = try begin(operation, until: limit).withoutPrompts
        let modules = dispatcher.places(for: operation).map(\.module)
        var missed: TokenKeepError?
        for module in modules where module.name != ItemView.memory {
            do throws(TokenKeepError) {
                if try isReady(module, forSaving: forSaving, call) { return }
            } catch {
                // The vault can keep a save that a module misses, so check the next module. A load fails here, because
                // the item may be in this module.
                guard forSaving, Decisions.isOutage(error.status) else { throw error.inModule(module.name) }
                missed = missed ?? error.inModule(module.name)
            }
        }
        throw missed ?? TokenKeepError(.unavailable, "no module of the stack keeps items now")
    }

    /// Whether a module can answer loads, or saves. False if the module does not exist on this machine.
    private func isReady(
        _ module: any Module, forSaving: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        guard !module.holdsRecords else { return try isVaultReady(forSaving: forSaving) }
        do throws(TokenKeepError) {
            _ = try module.load(try ItemName(namespace: namespace, service: "org.tokenkeep.ready", account: ""), call)
            return true
        } catch {
            guard error.status == .notFound else { throw error }
            return !error.isAbsence
        }
    }

    private func isVaultReady(forSaving: Bool) throws(TokenKeepError) -> Bool {
        guard let keys = try records.open()?.keys else {
            if forSaving { try records.checkMaking() }
            return true
        }
        guard !keys.header.hasPassword || keys.isOpen(.level(.afterFirstUnlock)) else {
            throw TokenKeepError(.locked, "the vault is locked", module: "vault", hint: "tokenkeep unlock")
        }
        return true
    }
}
