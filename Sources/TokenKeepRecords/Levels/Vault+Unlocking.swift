public import TokenKeepCore

extension Vault {
    /// What an unlock came to.
    public struct Unlocking: Sendable {
        /// Why the keys are in this process's memory alone; nil where every process of the user has them.
        public let reasonForMemory: String?
        /// For the call that asked for the password: items that ask at each use.
        package let presence: PresenceGrant
        /// Whether keys are being replaced, so that records wait to be sealed anew.
        public let isRekeying: Bool
        /// How many records a change of keys met that no key opens: they stay as they are.
        public var unreadable = 0
        let entries: [KeyHierarchy.Entry]
    }

    /// Unlocks the vault with its password. Argon2id runs once.
    ///
    /// The key of ``AccessLevel/whenUnlocked`` ends 180 seconds later, the others when the vault is locked or the machine
    /// is switched off.
    ///
    /// - Throws: ``Status/denied`` for a wrong password, ``Status/unsupported`` where the vault has none.
    public func unlock(_ password: SecretBytes) throws(TokenKeepError) -> Unlocking {
        guard let opened = try open() else { throw Vault.noPassword }
        let entries = try openSlot(.password, with: password, opened.keys)
        // Who watches sees items now that were hidden.
        defer { ChangeSignal.send(in: opened.directory) }
        return keep(entries, of: opened)
    }

    /// What is kept for whoever comes after an unlock.
    func keep(_ entries: [KeyHierarchy.Entry], of opened: Opened) -> Unlocking {
        resident.keep(entries, of: opened.keys.vaultID)
        return Unlocking(
            reasonForMemory: resident.reasonForMemory, presence: Vault.grant(entries),
            isRekeying: opened.keys.header.isRekeying, entries: entries)
    }

    /// The presence keys among others, the current one first.
    static func grant(_ entries: [KeyHierarchy.Entry]) -> PresenceGrant {
        let keys = entries.filter { $0.purpose == .presence }
        return PresenceGrant(keys: (keys.filter { !$0.isRetiring } + keys.filter(\.isRetiring)).map(\.key))
    }

    /// Which keys a lock ends.
    public enum Locking: Sendable {
        /// All: as at the end of the session.
        case all
        /// Those of ``AccessLevel/whenUnlocked``: as when the screen is locked.
        case screen
    }

    /// Ends the keys of the vault, for every process of the user.
    ///
    /// - Returns: why it is locked for this program alone, where the kernel's keyring cannot be reached; nil where it is
    ///   locked for all.
    /// - Throws: ``Status/io`` where a key is left, ``Status/unsupported`` where it has no password: nothing would be locked.
    @discardableResult
    public func lock(_ locking: Locking = .all) throws(TokenKeepError) -> String? {
        guard let directory = try VaultDirectory.open(try path()),
            let vaultID = try cache.vaultID(of: directory)
        else { throw Vault.noPassword }
        // Also where the header cannot be read: what is resident goes first.
        let reason = try resident.purge(locking == .all ? nil : .level(.whenUnlocked), of: vaultID)
        guard let opened = try open(), !opened.keys.header.slots(of: .password).isEmpty else { throw Vault.noPassword }
        return reason
    }

    /// Opens the first slot of a type that the password, or code, opens.
    ///
    /// - Throws: ``Status/denied`` where it opens none, ``Status/unsupported`` where there is none.
    func openSlot(
        _ type: KnownSlot.SlotType, with password: SecretBytes, _ keys: KeyHierarchy
    ) throws(TokenKeepError) -> [KeyHierarchy.Entry] {
        let slots = keys.header.slots(of: type)
        guard !slots.isEmpty else { throw type == .recovery ? Vault.noRecoveryCode : Vault.noPassword }
        try PasswordDerivation.check(password)
        for slot in slots {
            let wrapping = try PasswordDerivation.key(of: password, by: slot.derivation, in: arena)
            do throws(FormatFault) {
                return try slot.open(with: wrapping, vaultID: keys.vaultID, in: arena)
            } catch {
                if case .resources(let error) = error { throw error }
            }
        }
        throw TokenKeepError(
            .denied, type == .recovery ? "the recovery code is wrong" : "the password is wrong", module: "vault")
    }

    static let noPassword = TokenKeepError(
        .unsupported, "the vault has no password: there is nothing to lock or unlock", module: "vault",
        hint: "tokenkeep password set gives it one")
    static let noRecoveryCode = TokenKeepError(
        .unsupported, "the vault has no recovery code", module: "vault",
        hint: "tokenkeep recovery create makes one, while the password is known")
}
