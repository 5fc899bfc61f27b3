import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The steps common to all changes of a vault's keys: its beginning, the new keys, its end.
struct KeyChange {
    let store: Store
    private var records: Records { store.records }

    /// Creates the context of a change, which has the store's time limit for long work and never prompts.
    func begin() throws(TokenKeepError) -> CallContext {
        try store.begin(.any, until: store.longDeadline).withoutPrompts
    }

    /// Opens the vault, and checks that its header (the file of wrapped keys) matches its records.
    ///
    /// - Parameter absence: the error thrown if there is no vault.
    func vault(orThrow absence: TokenKeepError) throws(TokenKeepError) -> OpenVault {
        guard let vault = try records.openToUnlock() else { throw absence }
        try records.testify(vault)
        return vault
    }

    func rotation(_ call: CallContext, _ progress: JournalProgress?) -> KeyRotation {
        KeyRotation(records: records, resealing: store.resealing, call: call, progress: progress)
    }

    func passwordOpener(
        _ password: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> EraKeys.Opener {
        let derivation = PasswordDerivation.new(records.opener.costs)
        return .password(try PasswordDerivation.key(of: password, by: derivation, call), derivation)
    }

    /// Stores the new keys for use, unless another process has replaced them meanwhile.
    private func keep(_ unlocked: UnlockedVault, _ call: CallContext) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try PasswordSlots(records.opener).keep(unlocked, call)
        } catch {
            guard error.status == .conflict else { throw error }
        }
    }

    /// Unlocks the vault with its new keys, and re-encrypts items in other modules that are under older keys.
    ///
    /// - Parameter done: a sentence about the completed change, for the error that is thrown if an item could not be
    ///   re-encrypted. If `done` is nil, because the keys did not change, this error becomes the outcome's `problem`
    ///   instead, as after an unlock.
    func finish(
        _ unlocked: UnlockedVault, unreadable: Int = 0, done: String? = nil, _ call: CallContext,
        _ progress: JournalProgress?
    ) throws(TokenKeepError) -> UnlockOutcome {
        // Watchers are notified, because an unlocked vault shows them items that were hidden.
        defer { records.announceChange() }
        LastLogin.remove(records)
        if unlocked.vault.keys.header.hasPassword { try keep(unlocked, call) }
        var outcome = UnlockOutcome(reasonForMemory: records.opener.residentKeys.reasonForMemory)
        outcome.unreadable = unreadable
        guard unlocked.vault.keys.header.hasRetiringKeys else { return outcome }
        do throws(TokenKeepError) {
            outcome.unreadable += try store.resealing.run(unlocked, call, progress: progress).unreadable
        } catch {
            guard let done else {
                outcome.problem = error
                return outcome
            }
            throw TokenKeepError(
                error.status, "\(done), but not every item is sealed under the new keys: \(error.message)",
                module: "vault", hint: error.hint ?? "tokenkeep unlock goes on")
        }
        return outcome
    }
}
