import Glibc
package import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The result of a call of `tokenkeep login`, used as its exit code, which `pam_tokenkeep.so` reads.
package enum LoginResult: Int32, Sendable {
    /// The call succeeded, or nothing had to be done.
    case done = 0
    /// There is no vault, or the vault has no password.
    case noVault = 1
    /// The home directory, the vault's lock or the kernel's keyring is unavailable at present.
    case notNow = 4
    /// The password does not open the vault.
    case wrongPassword = 5
    /// The vault, or the directory for a new vault, belongs to another user or is writable by others.
    case refused = 6
    /// The vault is damaged.
    case damaged = 7
}

/// Unlocks a vault with the user's login password, and changes the vault's password together with it (docs/login.md).
///
/// Creates a vault only for the option `create` of the PAM module. Writes each outcome to the vault's file `login`.
package struct VaultLogin {
    /// The lifetime of the keys, in seconds, if no session confirms the login.
    package static let unconfirmedSeconds: UInt32 = 60

    private let store: Store
    /// The name of the PAM service.
    private let service: String
    /// Whether the user has an open session.
    private let hasSession: Bool

    package init(_ store: Store, service: String, hasSession: Bool) {
        self.store = store
        self.service = service
        self.hasSession = hasSession
    }

    /// Unlocks the vault. If no session is open, the keys expire after ``unconfirmedSeconds``.
    ///
    /// ``confirm()`` removes that limit. If every key is already unlocked, the password is not checked, because that
    /// would take a key derivation.
    ///
    /// - Parameter isCreating: whether to give this password to a vault without one, and to create a missing vault.
    package func unlock(with password: SecretBytes, isCreating: Bool = false) -> LoginResult {
        let result = unlock(with: password, hasRecorded: false)
        return result == .noVault && isCreating ? create(with: password) : result
    }

    /// - Parameter hasRecorded: whether this login has already recorded that it is too slow.
    private func unlock(with password: SecretBytes, hasRecorded: Bool) -> LoginResult {
        // The time limit is the longest possible, because the PAM module itself ends a call that exceeds the configured
        // timeout.
        onVault(within: VaultLogin.longestTimeout) { vault, call throws(TokenKeepError) in
            if try isOpen(vault, call, hasRecorded: hasRecorded) || staysLocked(vault) { return .done }
            // Write this outcome first, so that it stays if the PAM module kills this process.
            record(.tooSlow)
            // Simultaneous logins derive the key one after another: in parallel, all of them may exceed their time
            // limit, and after the first the vault is unlocked for the others. If the lock cannot be acquired, for
            // example on a full disk, this login derives the key without the lock.
            let turn = try? VaultLock(.asking(id: VaultLogin.turn), of: vault.directory, call)
            defer { turn?.release() }
            guard let vault = try present() else { return .noVault }
            if try isOpen(vault, call, hasRecorded: true) { return .done }
            let limit = limit(of: vault)
            do throws(TokenKeepError) {
                try PasswordDerivation.check(password)
                _ = try store.unlocking.unlock(password, call, expiringAfter: limit)
            } catch {
                guard VaultLogin.isWrong(error) else { throw error }
                record(.wrongPassword)
                return .wrongPassword
            }
            try? store.records.opener.removeRubbish(of: vault)
            if let reason = keys.reasonForMemory { throw TokenKeepError(.unavailable, reason) }
            record(.unlocked)
            return .done
        }
    }

    /// Gives the vault its first password, and creates a missing vault.
    private func create(with password: SecretBytes) -> LoginResult {
        do throws(TokenKeepError) {
            record(.tooSlow)
            if try setFirst(password) { return .done }
        } catch {
            // Another program has given the vault a password meanwhile.
            let isOvertaken = [.invalid, .conflict, .busy].contains(error.status)
            if isOvertaken, (try? present()) ?? nil != nil { return unlock(with: password, hasRecorded: true) }
            record(.unreachable)
            return error.status == .denied ? .refused : VaultLogin.result(of: error)
        }
        return unlock(with: password, hasRecorded: true)
    }

    /// Gives the vault its first password. Returns false if another login has done so meanwhile.
    private func setFirst(_ password: SecretBytes) throws(TokenKeepError) -> Bool {
        let call = try store.begin(.any, until: Deadline(milliseconds: VaultLogin.longestTimeout)).withoutPrompts
        try PasswordDerivation.check(password)
        let turn = try? VaultLock(
            .asking(id: VaultLogin.turn), of: store.records.openOrMake(call).directory, call)
        defer { turn?.release() }
        guard try present() == nil else { return false }
        _ = try store.passwords.set(password)
        write(.unlocked)
        return true
    }

    /// Whether every key of the vault is unlocked, as ``keepsOpen(_:_:)``.
    ///
    /// If this login has recorded that it is too slow, another login has unlocked the vault meanwhile, and the record is
    /// corrected. An earlier login's record stays, because the password of that login may be wrong.
    private func isOpen(
        _ vault: OpenVault, _ call: CallContext, hasRecorded: Bool
    ) throws(TokenKeepError) -> Bool {
        guard try keepsOpen(vault, call) else { return false }
        if hasRecorded, LastLogin.read(store.records)?.outcome == .tooSlow { write(.unlocked) }
        return true
    }

    /// Whether every key of the vault is unlocked. Gives temporary keys a new time limit, or none if a session is open.
    private func keepsOpen(_ vault: OpenVault, _ call: CallContext) throws(TokenKeepError) -> Bool {
        guard vault.keys.isWhollyOpen else { return false }
        if keys.areTemporary(vault.keys.vaultID) {
            let limit = limit(of: vault)
            try store.records.opener.whileInForce(vault, call) { () throws(TokenKeepError) in
                try keys.keep(vault.keys.residentKeys(), nil, of: vault.keys.vaultID, expiringAfter: limit)
            }
        }
        return true
    }

    /// Whether the user locked the vault in this session, and the password is for another purpose, such as sudo.
    private func staysLocked(_ vault: OpenVault) -> Bool {
        hasSession && keys.isLockedByUser(vault.keys.vaultID) && !PAMServiceNames.isLoginOrLocker(service)
    }

    /// Removes the time limit of keys that a login has unlocked, because a session of the user begins.
    package func confirm() -> LoginResult {
        onVault { vault, call throws(TokenKeepError) in
            if keys.areTemporary(vault.keys.vaultID) {
                // The agent must receive the keys, too. It may not answer yet, because it starts together with the
                // session.
                try store.records.opener.whileInForce(vault, call) { () throws(TokenKeepError) in
                    try keys.keepWithPatience(vault.keys.residentKeys(), of: vault.keys.vaultID, call.deadline)
                }
            }
            if !vault.keys.isOpen(.level(.afterFirstUnlock)) { record(.noPassword) }
            return .done
        }
    }

    /// Replaces the vault's password by the login's new password, if the vault has the login's old password.
    ///
    /// If the login's password has never opened the vault, the vault is unchanged, and every failure is returned as
    /// ``LoginResult/done``. A vault that cannot be reached counts as a vault that the login's password has never
    /// opened, unless the file `login` shows the opposite. A vault that the user locked stays locked.
    ///
    /// - Parameter old: the login's old password; empty if an administrator, who does not know the old password, set
    ///   the new one.
    package func follow(from old: SecretBytes, to new: SecretBytes) -> LoginResult {
        var isLogins = [.unlocked, .notFollowed].contains(LastLogin.read(store.records)?.outcome)
        let result = onVault { vault, call throws(TokenKeepError) in
            do throws(TokenKeepError) {
                try store.records.testify(vault)
                guard let unlocked = try open(vault, with: old, orAlready: new, call) else { return .done }
                // The file `login` may be missing, for example because the disk was full.
                isLogins = true
                // A vault that the user locked must not be unlocked by a change of the login's password.
                _ = try PasswordSlots(store.records.opener).change(
                    unlocked, to: new, call, expiringAfter: limit(of: vault), isLeftLocked: staysLocked(vault))
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

    // MARK: Steps of a login

    private var keys: ClassKeyStore { store.records.opener.residentKeys }

    /// The lifetime of the keys in seconds; nil for no limit, which applies if a session is open or the keys are
    /// already unlocked without a limit.
    private func limit(of vault: OpenVault) -> UInt32? {
        let stay = vault.keys.isOpen(.level(.afterFirstUnlock)) && !keys.areTemporary(vault.keys.vaultID)
        return hasSession || stay ? nil : VaultLogin.unconfirmedSeconds
    }

    /// Opens the vault with the login's old password; nil if the vault already has the new password.
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

    /// Calls `body` with the vault, and converts errors to results.
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
            record(error.status == .timedOut ? .tooSlow : .unreachable)
            return VaultLogin.result(of: error)
        }
    }

    /// Opens the vault; nil if there is no vault, or if it has no password.
    private func present() throws(TokenKeepError) -> OpenVault? {
        do throws(TokenKeepError) {
            guard let vault = try store.records.openToUnlock(), vault.keys.header.hasPassword else { return nil }
            return vault
        } catch {
            // DENIED here means that the vault's owner or mode is wrong, not that the password is.
            guard error.status == .denied else { throw error }
            throw TokenKeepError(.policy, error.message)
        }
    }

    /// The time limit, in milliseconds, of a call that may wait for the vault's lock.
    ///
    /// The limit is below the PAM module's usual timeout of five seconds, so that the outcome can be recorded.
    private static let patience: UInt32 = 4_000
    /// The id of the lock that a login holds while it derives a key. No item has this id.
    private static let turn = [UInt8](repeating: 0xFE, count: 8)
    /// The longest timeout, in milliseconds, that the PAM module accepts.
    private static let longestTimeout: UInt32 = 30_000

    private static func isWrong(_ error: TokenKeepError) -> Bool {
        error.status == .denied || error.status == .invalid
    }

    /// The result of a failure that does not show whether the password is right.
    private static func result(of error: TokenKeepError) -> LoginResult {
        switch error.status {
        case .policy: .refused
        case .corrupt, .unsupported, .internal: .damaged
        default: .notNow
        }
    }

    /// Records an outcome in the file `login`, unless the last outcome is more useful.
    ///
    /// The outcome ``LastLogin/Outcome/notFollowed`` stays until a login unlocks the vault. The outcome of a failed
    /// unlock is not replaced by ``LastLogin/Outcome/noPassword`` within a minute, because the session of the same
    /// login also finds the vault locked.
    private func record(_ outcome: LastLogin.Outcome) {
        if outcome != .unlocked, let last = LastLogin.read(store.records) {
            if last.outcome == .notFollowed { return }
            let age = UnixTime.now.rawValue - last.time.rawValue
            let isRecent = (0...Int64(VaultLogin.unconfirmedSeconds)).contains(age)
            if outcome == .noPassword, isRecent, last.outcome != .unlocked { return }
        }
        write(outcome)
    }

    private func write(_ outcome: LastLogin.Outcome) {
        LastLogin(service: service, outcome: outcome).write(store.records)
    }
}
