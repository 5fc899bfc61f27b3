public import TokenKeepCore

/// Seals under the class keys of a vault.
public struct VaultSealer: SecretSealer {
    private let vault: Vault

    /// Seals under the keys of `vault`.
    public init(_ vault: Vault) { self.vault = vault }

    /// See ``SecretSealer``.
    public var vaultID: String? { ((try? vault.open()) ?? nil).map { RecordNames.fileName($0.keys.vaultID) } }

    /// See ``SecretSealer``. Also where it cannot be told: then a module is looked through in vain.
    public var mayHaveSealed: Bool {
        guard let directory = try? VaultDirectory.open(try vault.path()) else { return false }
        return (try? ModuleMarks(.sealed, directory).isAnyThere()) ?? true
    }

    /// As the vault protects what is saved now.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        guard let given = try? vault.protection(of: level, flags, isSaving: true) else { return nil }
        return Protection {
            Protection.Axis(given[$0].strength, "sealed by the vault: \(given[$0].mechanism)", remedy: given[$0].remedy)
        }
    }

    /// Notes, durably, that the module holds such items on this machine: keys that are replaced wait for them.
    public func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let opened = try vault.open() else { throw VaultSealer.noVault }
        try ModuleMarks(.sealed, opened.directory).add(ModuleMark(module: module, machine: .current))
        do throws(FormatFault) {
            let sealed = try SealedSecret.seal(
                secret, of: details, keys: opened.keys, call.presence, in: vault.arena)
            return try FormatFault.needing { () throws(TokenKeepError) in
                try sealed.lent { bytes throws(TokenKeepError) in
                    try SecretBytes(copying: bytes, in: vault.arena)
                }
            }
        } catch {
            throw VaultSealer.error(error, details)
        }
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

    private static let noVault = TokenKeepError(
        .corrupt, "the vault whose keys seal items is not there", module: "vault", hint: "restore it from a backup")

    /// What is wrong with a sealed secret is no damage of the vault's files.
    private static func error(_ fault: FormatFault, _ details: ItemDetails) -> TokenKeepError {
        let subject = "the sealed secret of \(details.name)"
        switch fault {
        case .malformed(let reason):
            return TokenKeepError(
                .corrupt, "\(subject) is damaged: \(reason)", module: details.module,
                hint: "nothing was deleted; save the item anew, or clear it")
        case .unknownKey:
            return TokenKeepError(
                .corrupt, "\(subject) names a key that the vault does not have any more", module: details.module,
                hint: "nothing was deleted; save the item anew, or restore the vault from a backup")
        default: return fault.error(in: subject)
        }
    }
}
