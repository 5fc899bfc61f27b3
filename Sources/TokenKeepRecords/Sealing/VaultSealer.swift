public import TokenKeepCore

/// Seals under the class keys of a vault.
public struct VaultSealer: SecretSealer {
    private let vault: Vault

    /// Seals under the keys of `vault`.
    public init(_ vault: Vault) { self.vault = vault }

    /// See ``SecretSealer``.
    public func vaultID() throws(TokenKeepError) -> String? {
        guard let opened = try vault.open() else { return nil }
        return RecordNames.fileName(opened.keys.vaultID)
    }

    /// See ``SecretSealer``.
    public func sealsItems() throws(TokenKeepError) -> Bool { try vault.open()?.keys.header.hasPassword ?? false }

    /// See ``SecretSealer``. A password that is being taken away counts.
    public var mayHaveSealed: Bool {
        do throws(TokenKeepError) {
            return try vault.open()?.keys.header.slots(of: .password).isEmpty == false
        } catch {
            return true
        }
    }

    /// See ``SecretSealer``; false where it cannot be told.
    public func hasNote(of name: ItemName) -> Bool {
        guard let opened = try? vault.open() else { return false }
        return (try? SealedNotes(opened, in: vault.arena).has(name)) ?? false
    }

    /// As the vault protects what is saved now.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection {
        let given = try vault.protection(of: level, flags, isSaving: true)
        return Protection {
            Protection.Axis(given[$0].strength, "sealed by the vault: \(given[$0].mechanism)", remedy: given[$0].remedy)
        }
    }

    /// See ``SecretSealer``.
    public func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let opened = try vault.open() else { throw VaultSealer.noVault }
        guard vault.holds(details.name) else {
            throw TokenKeepError(
                .unavailable, "the vault cannot be locked while it seals \(details.name)", module: "vault",
                hint: "let the vault be written")
        }
        do throws(FormatFault) {
            let sealed = try SealedSecret.seal(secret, of: details, keys: opened.keys, call.presence, in: vault.arena)
            try FormatFault.needing { () throws(TokenKeepError) in try note(details, module, opened) }
            return try FormatFault.needing { () throws(TokenKeepError) in
                try sealed.lent { bytes throws(TokenKeepError) in try SecretBytes(copying: bytes, in: vault.arena) }
            }
        } catch {
            throw VaultSealer.error(error, details)
        }
    }

    /// Notes who is about to get the item, and what it demands, where that is not noted.
    private func note(_ details: ItemDetails, _ module: String, _ opened: Vault.Opened) throws(TokenKeepError) {
        let notes = SealedNotes(opened, in: vault.arena)
        let present = try notes.note(of: details.name)
        var note =
            present
            ?? SealedNote(name: details.name, level: details.accessLevel, flags: details.flags, holders: [])
        note.level = details.accessLevel
        note.flags = details.flags
        let keyID = opened.keys.currentKeyID(for: .level(details.accessLevel)) ?? 0
        note.add(module, .current, keyID: keyID)
        if note != present { try notes.write(note) }
    }

    /// Where it names a key that is not known, the header is read again, once: the keys may have changed.
    public func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let opened = try vault.open() else { throw VaultSealer.noVault }
        do throws(FormatFault) {
            return try open(sealed, of: details, opened.keys, call)
        } catch {
            guard error == .unknownKey || error == .lockedKey,
                let keys = try vault.cache.keys(of: opened.directory, fresh: true)
            else { throw VaultSealer.error(error, details) }
            do throws(FormatFault) {
                return try open(sealed, of: details, keys, call)
            } catch {
                throw VaultSealer.error(error, details)
            }
        }
    }

    private func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ keys: KeyHierarchy, _ call: CallContext
    ) throws(FormatFault) -> SecretBytes {
        try sealed.lent { bytes throws(FormatFault) in
            try SealedSecret.open(bytes, of: details, keys: keys, call.presence, in: vault.arena)
        }
    }

    /// See ``SecretSealer``.
    public func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError) {
        guard vault.holds(name), let opened = try vault.open() else { return }
        try SealedNotes(opened, in: vault.arena).removeHolders(of: name) {
            $0.module == module && (everywhere || $0.machine == MachineID.current.bytes)
        }
    }

    private static let noVault = TokenKeepError(
        .corrupt, "the vault whose keys seal items is not there", module: "vault", hint: "restore it from a backup")

    /// What is wrong with a sealed secret is no damage of the vault's files.
    private static func error(_ fault: FormatFault, _ details: ItemDetails) -> TokenKeepError {
        let subject = "the sealed secret of \(details.name) in \(details.module)"
        let hint = "nothing was deleted; save the item anew, or clear it"
        switch fault {
        case .malformed(let reason):
            return TokenKeepError(.corrupt, "\(subject) is damaged: \(reason)", module: "vault", hint: hint)
        case .unknownKey:
            return TokenKeepError(
                .corrupt, "\(subject) names a key that the vault does not have any more", module: "vault", hint: hint)
        default: return fault.error(in: subject)
        }
    }
}
