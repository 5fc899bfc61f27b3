package import TokenKeepCore
import TokenKeepKeys

/// Encrypts (seals) secrets for other modules under the vault's keys, and decrypts sealed secrets.
package struct VaultSealer: SecretSealer {
    private let records: Records
    /// The item whose lock the caller holds; nil if the caller holds no lock.
    private let held: HeldItem?

    private struct HeldItem {
        let vault: OpenVault
        let name: ItemName
        /// Whether the item's record was unreadable, so that its sealed copies are unknown.
        let isUnreadable: Bool
        /// Whether the item's record is readable and has a value or pending changes.
        let isRecorded: Bool
        let copyChanges: CopyChanges
    }

    /// Makes an object that opens sealed (encrypted) secrets, but cannot seal secrets.
    package init(_ records: Records) {
        self.records = records
        held = nil
    }

    fileprivate init(_ item: borrowing ItemTransaction) {
        records = item.records
        held = HeldItem(
            vault: item.vault, name: item.name, isUnreadable: item.entry.problem != nil,
            isRecorded: item.entry.record != nil, copyChanges: item.copyChanges)
    }

    /// The id of the vault whose keys encrypt items in this call, 32 hexadecimal digits; nil if there is no vault.
    package func vaultID() throws(TokenKeepError) -> String? {
        try vault().map { Hexadecimal.text($0.keys.vaultID) }
    }

    /// The id of the vault that sealed a secret; nil if the secret is not sealed.
    package func vaultID(ofSealed secret: SecretBytes) -> String? {
        SealedSecret.vaultID(of: secret).map(Hexadecimal.text)
    }

    /// Whether the vault seals items of a level: the vault has a password, or the level needs a device to which the
    /// vault is bound.
    ///
    /// - Parameter level: nil for any level.
    package func sealsItems(of level: AccessLevel?) throws(TokenKeepError) -> Bool {
        guard let header = try vault()?.keys.header else { return false }
        return header.hasPassword || (level?.needsDevice != false && header.device != nil)
    }

    /// Whether the caller holds this item's lock, so that the item's secret can be sealed.
    package func holds(_ name: ItemName) -> Bool { held?.name == name }

    /// Whether modules may hold items that the vault sealed (encrypted); true if the vault cannot be read.
    ///
    /// Sealed items exist only if the vault has a password, has a retiring key or is bound to a device.
    package var mayHaveSealed: Bool {
        do throws(TokenKeepError) {
            guard let header = try vault()?.keys.header else { return false }
            return header.hasPassword || header.hasRetiringKeys || header.device != nil
        } catch {
            return true
        }
    }

    /// Whether the record of this item lists a sealed copy in any module. False if the record cannot be read.
    package func hasSealedCopy(of name: ItemName) -> Bool { ((try? copies(of: name, vault())) ?? nil) != nil }

    /// Whether the record of this item lists a sealed copy in this module on this machine.
    package func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool {
        try holder(name, module, vault()) != nil
    }

    private func holder(
        _ name: ItemName, _ module: String, _ vault: OpenVault?
    ) throws(TokenKeepError) -> SealedCopies.Holder? {
        guard let vault else { return nil }
        return try copies(of: name, vault)?.holder(module, vault.keys.journal.machine(records.machine.bytes))
    }

    private func copies(of name: ItemName, _ vault: OpenVault?) throws(TokenKeepError) -> SealedCopies? {
        guard let vault, held.map({ $0.name == name && $0.isUnreadable }) != true else { return nil }
        return try SealedRecords(vault).copies(of: name)
    }

    /// The protection that an item currently has if the vault seals it.
    package func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection {
        let given = VaultProtection(try vault(), records.opener.residentKeys).protection(of: level, flags)
        return Protection {
            Protection.Axis(given[$0].strength, "sealed by the vault: \(given[$0].mechanism)", remedy: given[$0].remedy)
        }
    }

    /// Encrypts a secret for a module, and lists the sealed copy in the item's record before the result is returned.
    package func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let held, held.name == details.name else {
            throw TokenKeepError(
                .unavailable, "the vault cannot be locked while it seals \(details.name)", module: "vault",
                hint: "let the vault be written")
        }
        do throws(FormatFault) {
            let bytes = try SealedSecret.seal(secret, of: details, keys: held.vault.keys, call.presence)
            return try FormatFault.needing { () throws(TokenKeepError) in
                let sealed = try bytes.lent { bytes throws(TokenKeepError) in try SecretBytes(copying: bytes) }
                try addCopy(sealed, details, in: module, held)
                return sealed
            }
        } catch {
            throw VaultSealer.error(error, details)
        }
    }

    /// Records in the item's record that a module is about to get this sealed secret.
    private func addCopy(
        _ sealed: SecretBytes, _ details: ItemDetails, in module: String, _ held: HeldItem
    ) throws(TokenKeepError) {
        let keys = held.vault.keys
        let keyID = keys.currentKeyID(for: .level(details.accessLevel)) ?? 0
        try held.copyChanges.change(of: details.name) { copies in
            var changed = copies ?? SealedCopies(level: details.accessLevel, flags: details.flags)
            (changed.level, changed.flags) = (details.accessLevel, details.flags)
            changed.add(
                module, keys.journal.machine(records.machine.bytes), keyID: keyID,
                keys.journal.fingerprint(of: sealed))
            copies = changed
        }
    }

    /// Records that the module has stored the secret that was last sealed for it, and no longer has an earlier secret.
    ///
    /// In a record with a value or pending changes, the earlier fingerprints stay until the record is written again.
    /// Until then, they do no harm.
    package func acknowledge(_ name: ItemName, in module: String) {
        guard let held, held.name == name else { return }
        let machine = held.vault.keys.journal.machine(records.machine.bytes)
        guard !held.isRecorded else { return held.copyChanges.acknowledge(module) }
        try? held.copyChanges.change(of: name) { $0?.keepLatest(module, machine) }
    }

    /// Opens a sealed secret. If the secret's key is unknown or locked, tries again with the vault's current header.
    package func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes {
        guard let vault = try vault() else { throw .noSealingVault }
        if let holder = try holder(details.name, details.module, vault), !holder.fingerprints.isEmpty {
            guard holder.fingerprints.contains(vault.keys.journal.fingerprint(of: sealed)) else {
                throw VaultSealer.error(.malformed("it is not the one that the module was given"), details)
            }
        }
        do throws(FormatFault) {
            return try SealedSecret.open(sealed, of: details, keys: vault.keys, call.presence)
        } catch {
            switch error {
            case .unknownKey, .lockedKey, .deviceFault: break
            default: throw VaultSealer.error(error, details)
            }
            guard let present = try records.opener.open(fresh: true) else { throw VaultSealer.error(error, details) }
            do throws(FormatFault) {
                return try SealedSecret.open(sealed, of: details, keys: present.keys, call.presence)
            } catch {
                throw VaultSealer.error(error, details)
            }
        }
    }

    /// Durably records that a module no longer holds the sealed item.
    ///
    /// The change is durable, because the vault would keep old keys if a power failure restored the removed entry.
    package func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError) {
        guard let held, held.name == name else { return }
        let machine = held.vault.keys.journal.machine(records.machine.bytes)
        try held.copyChanges.change(of: name) {
            $0?.holders.removeAll { $0.module == module && (everywhere || $0.machine == machine) }
        }
    }

    private func vault() throws(TokenKeepError) -> OpenVault? {
        if let held { return held.vault }
        return try records.open()
    }

    /// The error for a sealed secret that cannot be opened. The message blames the sealed secret, not the vault's own
    /// files.
    private static func error(_ fault: FormatFault, _ details: ItemDetails) -> TokenKeepError {
        let subject = "the sealed secret of \(details.name) in \(details.module)"
        let hint = "nothing was deleted; save the item anew, or clear it"
        switch fault {
        case .malformed(let reason):
            return TokenKeepError(.corrupt, "\(subject) is damaged: \(reason)", module: "vault", hint: hint)
        case .unknownKey:
            return TokenKeepError(
                .corrupt, "\(subject) names a key that the vault does not have any more", module: "vault", hint: hint)
        default: return fault.error(in: subject).of(details.name)
        }
    }
}

extension ItemTransaction {
    /// An object that encrypts this item's secret for modules. Must not be used after the end of the transaction.
    package var sealer: VaultSealer { VaultSealer(self) }
}
