package import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Unlocks a vault with a password from the caller, from the store's configuration or from a prompt.
package struct VaultUnlocking: Sendable {
    let records: Records
    /// Asks the user for the vault's password; nil if the program cannot show prompts.
    let prompt: PromptHandler?
    /// Returns the vault's password without asking the user; nil if the configuration gives no password.
    let password: PasswordProvider?

    /// Opens a vault whose password was removed, if other modules may still hold items under keys of that password.
    ///
    /// - Returns: nil if the vault has a password, or if no such keys are left.
    func withoutPassword() throws(TokenKeepError) -> UnlockedVault? {
        guard let vault = try records.openToUnlock(), !vault.keys.header.hasPassword, vault.keys.header.hasRetiringKeys
        else {
            return nil
        }
        try records.testify(vault)
        return try UnlockedVault(withoutPassword: vault)
    }

    /// Throws if the vault certainly has no password. Called before the user is asked for a password.
    ///
    /// - Throws: ``Status/unsupported`` if the vault has neither a password nor keys of a removed password.
    package func checkHasPassword() throws(TokenKeepError) {
        guard let header = (try? records.openToUnlock())??.keys.header else { return }
        guard header.hasPassword || header.hasRetiringKeys else { throw PasswordSlots.noPassword }
    }

    /// Unlocks the vault with its password.
    ///
    /// - Parameter limit: the lifetime of the keys, in seconds, if no session confirms the login; nil for no limit.
    func unlock(
        _ password: SecretBytes, _ call: CallContext, expiringAfter limit: UInt32? = nil, isAcceptingOlder: Bool = false
    ) throws(TokenKeepError) -> UnlockedVault {
        guard let vault = try records.openToUnlock() else { throw PasswordSlots.noPassword }
        let passwords = PasswordSlots(records.opener, isAcceptingOlder: isAcceptingOlder)
        let unlocked = try passwords.unlock(with: password, vault, call, expiringAfter: limit) {
            (vault) throws(TokenKeepError) in try records.testify(vault)
        }
        // Watchers are notified, because they can now see items that were hidden while the vault was locked.
        records.announceChange()
        // This is the last step, because an access to the file system of another vault may hang.
        records.opener.residentKeys.removal.dropKeysOfLostVaults()
        return unlocked
    }

    /// The maximum number of wrong passwords before the prompts end.
    private static let attempts: UInt32 = 3

    /// Runs `body`. If `body` fails because the vault is locked, obtains the password, unlocks the vault and runs
    /// `body` once more.
    func retrying<Result>(
        _ call: CallContext, for name: ItemName, _ body: (CallContext) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        do throws(TokenKeepError) {
            return try body(call)
        } catch {
            // If the vault has no password, a device keeps the item locked, and asking for a password would not help.
            guard error.status == .locked, error.module == "vault",
                (try? records.open())??.keys.header.hasPassword != false
            else { throw error }
            if let password { return try body(call.granting(try unlock(password(), call).presence)) }
            guard call.promptsAllowed, prompt != nil else { throw error }
        }
        return try body(call.granting(try askForPassword(for: name, call)))
    }

    /// Unlocks a locked vault if the configuration provides the password.
    package func withGivenPassword(_ call: CallContext) throws(TokenKeepError) {
        guard let password, let keys = try records.openToUnlock()?.keys, keys.header.hasPassword,
            !keys.isOpen(.level(.whenUnlocked)) || !keys.isOpen(.level(.afterFirstUnlock))
        else { return }
        _ = try unlock(password(), call)
    }

    func askForPassword(for name: ItemName, _ call: CallContext) throws(TokenKeepError) -> PresenceGrant {
        var attempt: UInt32 = 1
        while true {
            guard let prompt, !call.deadline.hasPassed else {
                throw TokenKeepError(.timedOut, "the deadline passed while the password was asked for", module: "vault")
            }
            let message = "password of the vault, for \(name)"
            let answer = try prompt(Prompt(kind: .password, attempt: attempt, message: message, item: name))
            do throws(TokenKeepError) {
                return try unlock(answer, call).presence
            } catch {
                guard error.status == .denied, attempt < VaultUnlocking.attempts else { throw error }
                attempt += 1
            }
        }
    }
}
