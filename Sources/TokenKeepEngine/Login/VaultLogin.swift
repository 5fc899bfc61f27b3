import Glibc
package import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The result of a login's call. The numbers are exit codes of `tokenkeep login`, which `pam_tokenkeep.so` reads.
package enum LoginResult: Int32, Sendable {
    /// Done, or nothing was to do.
    case done = 0
    /// There is no vault, or it has no password.
    case noVault = 1
    /// The home, the vault's lock or the kernel's keyring cannot be used at present.
    case notNow = 4
    /// The password does not open the vault.
    case wrongPassword = 5
    /// The vault is damaged, or belongs to another user.
    case damaged = 7
}

/// Unlocks a vault with the password of the user's login, and changes its password with the login's (docs/login.md).
///
/// Makes no vault. Notes each outcome in the vault's file `login`.
package struct VaultLogin {
    /// The seconds for which the keys stay if no session confirms the login.
    package static let unconfirmedSeconds: UInt32 = 60

    private let store: Store
    /// The name of the PAM service.
    private let service: String
    /// Whether a session of the user is open.
    private let hasSession: Bool

    package init(_ store: Store, service: String, hasSession: Bool) {
        self.store = store
        self.service = service
        self.hasSession = hasSession
    }

    /// Unlocks the vault. If no session is open, the keys expire after ``unconfirmedSeconds`` unless ``confirm()``
    /// keeps them.
    ///
    /// If every key is there already, the password is not checked: that would derive a key.
    package func unlock(with password: SecretBytes) -> LoginResult {
        // Waits for no lock: the module ends a derivation that takes longer than its timeout.
        onVault(within: VaultLogin.longestTimeout) { vault, call throws(TokenKeepError) in
            let limit = limit(of: vault)
            if vault.keys.isWhollyOpen {
                if keys.areTemporary(vault.keys.vaultID) {
                    try keys.keep(vault.keys.residentKeys(), nil, of: vault.keys.vaultID, expiringAfter: limit)
                }
                return .done
            }
            do throws(TokenKeepError) {
                try PasswordDerivation.check(password)
                _ = try store.unlockVault(password, call, expiringAfter: limit)
            } catch {
                guard VaultLogin.isWrong(error) else { throw error }
                note(.wrongPassword)
                return .wrongPassword
            }
            try? store.records.opener.removeRubbish(of: vault)
            if let reason = keys.reasonForMemory { throw TokenKeepError(.unavailable, reason) }
            note(.unlocked)
            return .done
        }
    }

    /// Lets the keys stay that a login has unlocked, because a session of the user begins.
    package func confirm() -> LoginResult {
        onVault { vault, call throws(TokenKeepError) in
            if keys.areTemporary(vault.keys.vaultID) {
                // Keeping a key gives it to whatever publishes the keys of the level when-unlocked.
                try keys.keepWithPatience(vault.keys.residentKeys(), of: vault.keys.vaultID, call.deadline)
            }
            if !vault.keys.isOpen(.level(.afterFirstUnlock)) { note(.noPassword) }
            return .done
        }
    }

    /// Replaces the vault's password, if it is the login's old one, by the new one.
    ///
    /// A vault that the login's password never opened is left alone, and nothing is said about it: each failure is then
    /// ``LoginResult/done``. So it is if the vault cannot be reached to find out.
    ///
    /// - Parameter old: empty if the administrator replaced the login's password without knowing it.
    package func follow(from old: SecretBytes, to new: SecretBytes) -> LoginResult {
        var isLogins = [.unlocked, .notFollowed].contains(LoginNote.read(store.records)?.outcome)
        let result = onVault { vault, call throws(TokenKeepError) in
            do throws(TokenKeepError) {
                try store.records.testify(vault)
                guard let unlocked = try open(vault, with: old, orAlready: new, call) else { return .done }
                // No login may have noted it, as on a full disk.
                isLogins = true
                _ = try PasswordSlots(store.records.opener).change(
                    unlocked, to: new, call, expiringAfter: limit(of: vault))
                return .done
            } catch {
                guard VaultLogin.isWrong(error) else { throw error }
                return .wrongPassword
            }
        }
        guard result != .done, result != .noVault else {
            if result == .done { write(.unlocked) }
            return result
        }
        guard isLogins else { return .done }
        write(.notFollowed)
        return result
    }

    // MARK: Parts

    private var keys: ClassKeyStore { store.records.opener.residentKeys }

    /// The seconds after which keys expire; nil if a session is open, or other keys stay already.
    private func limit(of vault: OpenVault) -> UInt32? {
        let stay = vault.keys.isOpen(.level(.afterFirstUnlock)) && !keys.areTemporary(vault.keys.vaultID)
        return hasSession || stay ? nil : VaultLogin.unconfirmedSeconds
    }

    /// Opens the vault with the login's old password. nil if the vault's password was changed before the login's, and
    /// follows already.
    private func open(
        _ vault: OpenVault, with old: SecretBytes, orAlready new: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault? {
        let passwords = PasswordSlots(store.records.opener)
        try PasswordDerivation.check(old)
        try PasswordDerivation.check(new)
        do throws(TokenKeepError) {
            return try passwords.open(.password, with: old, vault, call)
        } catch {
            guard VaultLogin.isWrong(error) else { throw error }
            _ = try passwords.open(.password, with: new, vault, call)
            return nil
        }
    }

    /// Calls `body` with the vault, and turns errors into results.
    private func onVault(
        within milliseconds: UInt32 = VaultLogin.patience,
        _ body: (OpenVault, CallContext) throws(TokenKeepError) -> LoginResult
    ) -> LoginResult {
        guard let home = HomeDirectory.path(), access(home, X_OK) == 0 else { return .notNow }
        do throws(TokenKeepError) {
            let call = try store.begin(.any, until: Deadline(milliseconds: milliseconds)).withoutPrompts
            guard let vault = try present() else { return .noVault }
            return try body(vault, call)
        } catch {
            note(.unreachable)
            return VaultLogin.isDamage(error) ? .damaged : .notNow
        }
    }

    /// The vault; nil if there is none or it has no password.
    private func present() throws(TokenKeepError) -> OpenVault? {
        do throws(TokenKeepError) {
            guard let vault = try store.records.open(), vault.keys.header.hasPassword else { return nil }
            return vault
        } catch {
            // A vault that is refused for its owner or mode is no wrong password.
            guard error.status == .denied else { throw error }
            throw TokenKeepError(.corrupt, error.message)
        }
    }

    /// The limit in milliseconds of a call that may wait for the vault's lock. Shorter than the five seconds that the PAM
    /// module usually waits, so that the outcome is noted.
    private static let patience: UInt32 = 4_000
    /// The longest time in milliseconds that the PAM module can be told to wait.
    private static let longestTimeout: UInt32 = 30_000

    private static func isWrong(_ error: TokenKeepError) -> Bool {
        error.status == .denied || error.status == .invalid
    }

    private static func isDamage(_ error: TokenKeepError) -> Bool {
        [.corrupt, .unsupported, .internal].contains(error.status)
    }

    /// Notes an outcome, unless an earlier one says more: a password that was not followed stays noted until a login
    /// unlocks the vault, and the outcome of an authentication until its session is a minute old.
    private func note(_ outcome: LoginNote.Outcome) {
        if outcome != .unlocked, let last = LoginNote.read(store.records) {
            if last.outcome == .notFollowed { return }
            let age = UnixTime.now.rawValue - last.time.rawValue
            let isRecent = (0...Int64(VaultLogin.unconfirmedSeconds)).contains(age)
            if outcome == .noPassword, isRecent, last.outcome != .unlocked { return }
        }
        write(outcome)
    }

    private func write(_ outcome: LoginNote.Outcome) {
        LoginNote(service: service, outcome: outcome).write(store.records)
    }
}
