import TokenKeepCore

/// Secrets in NV indices of the TPM, which can be destroyed.
extension Devices {
    /// Makes a secret in a new index, and the binding of a new slot to the index.
    ///
    /// - Returns: nil if the device has no indices, or cannot make one.
    func bindToIndex(
        of device: DeviceIdentity, base: SecretBytes, _ type: KnownSlot.SlotType, of vaultID: [UInt8]
    ) throws(DeviceFault) -> Bound? {
        guard device.provider == .tpm2 else { return nil }
        let secret = try DeviceFault.needing { () throws(TokenKeepError) in
            try SecretBytes(randomCount: TPM.secretLength)
        }
        let authValue = try Devices.authValue(from: base, number: Devices.numberOfIndex, for: device.name)
        let owner = TPM.IndexOwner(name: device.name, kind: .deviceBytes, vaultID: vaultID)
        guard let number = try tpm.makeIndex(of: owner, secret, authValue: authValue, until: Devices.deadline) else {
            return nil
        }
        let binding = DeviceBinding(provider: .tpm2, base: type, name: device.name, object: .index(number))
        guard try self.secret(for: binding, base: base, of: vaultID) == secret else { throw Devices.other(.tpm2) }
        return Bound(binding: binding, secret: secret)
    }

    func secretOfIndex(
        _ binding: DeviceBinding, base: SecretBytes, of vaultID: [UInt8], until deadline: Deadline
    ) throws(DeviceFault) -> SecretBytes {
        guard let number = binding.indexNumber else { throw TPMReply.noIndex }
        let authValue = try Devices.authValue(from: base, number: Devices.numberOfIndex, for: binding.name)
        let owner = TPM.IndexOwner(name: binding.name, kind: .deviceBytes, vaultID: vaultID)
        do throws(DeviceFault) {
            return try tpm.readIndex(number, of: owner, TPM.secretLength, authValue: authValue, until: deadline)
        } catch {
            // If the TPM refuses the authValue, the number belongs to an index that was made later for another header,
            // so the slot's own index is gone.
            throw error == TPMReply.refusedKey ? TPMReply.noIndex : error
        }
    }

    /// The numbers of the vault's indices that the vault does not use; empty if the TPM does not answer.
    package func remainingIndices(of vault: OpenVault) -> [UInt32] {
        let named = vault.keys.header.indexNumbers
        let listed = (try? tpm.indices(of: vault.keys.vaultID, until: Devices.deadline)) ?? []
        let isAnchored = vault.keys.header.device?.provider == .tpm2
        return listed.filter { $0.kind == .anchor ? !isAnchored : !named.contains($0.number) }.map(\.number)
    }

    /// The number of the subkey from which an index's authValue is derived.
    private static let numberOfIndex: UInt64 = 2
}

/// Checks the TPM's indices that a new header needs, and destroys those that only the old header needs.
///
/// The caller holds the lock of the whole vault. Only under this lock does a process destroy an index that no header
/// names.
struct IndexChange {
    let before: Header
    let after: Header
    let devices: Devices

    /// Throws ``Status/conflict`` if an index that only the new header names is missing, because another process
    /// destroyed it.
    func check() throws(TokenKeepError) {
        let new = after.indexNumbers.subtracting(before.indexNumbers)
        guard !new.isEmpty else { return }
        let present = try listed().filter { $0.kind == .deviceBytes && $0.isComplete }
        guard new.isSubset(of: present.map(\.number)) else {
            throw TokenKeepError(
                .conflict, "another process changed the vault's keys meanwhile", module: "vault", hint: "try again")
        }
    }

    /// Destroys the old header's indices that the new header does not name. The new header must be in force.
    func destroyStale() {
        let kept = after.indexNumbers
        for binding in before.indexBindings {
            guard let number = binding.indexNumber, !kept.contains(number) else { continue }
            let owner = TPM.IndexOwner(name: binding.name, kind: .deviceBytes, vaultID: before.vaultID)
            try? devices.tpm.destroyIndex(number, of: owner, until: Devices.deadline)
        }
    }

    /// If the change removes the password, destroys every secret of the vault that is in an index of the TPM.
    ///
    /// Afterwards, no older header can open the key of the level that needs a password.
    func destroySecrets() throws(TokenKeepError) {
        guard before.hasPassword, !after.hasPassword, let device = before.device, device.provider == .tpm2 else {
            return
        }
        let owner = TPM.IndexOwner(name: device.name, kind: .deviceBytes, vaultID: before.vaultID)
        do throws(DeviceFault) {
            for index in try devices.tpm.indices(of: before.vaultID, until: Devices.deadline)
            where index.kind == .deviceBytes {
                try devices.tpm.destroyIndex(index.number, of: owner, until: Devices.deadline)
            }
        } catch {
            throw TokenKeepError(
                .unavailable,
                "the TPM does not destroy the secret of the level when-passcode-set-this-device-only: "
                    + "\(error.reason); the password stays", module: "vault", hint: "see tokenkeep device show")
        }
    }

    private func listed() throws(TokenKeepError) -> [TPM.Index] {
        do throws(DeviceFault) {
            return try devices.tpm.indices(of: after.vaultID, until: Devices.deadline)
        } catch {
            throw error.error
        }
    }
}

extension Header {
    /// The bindings of the device slots whose secret is in an index.
    var indexBindings: [DeviceBinding] { knownSlots.compactMap(\.device).filter { $0.indexNumber != nil } }

    /// The numbers of the indices that contain the secrets of device slots.
    var indexNumbers: Set<UInt32> { Set(indexBindings.compactMap(\.indexNumber)) }

    /// Whether the secret of a level's current key is in an index, so that it is destroyed with the password.
    func isDestructible(_ level: AccessLevel) -> Bool {
        knownSlots.contains { $0.device?.indexNumber != nil && $0.current(.level(level)) != nil }
    }

    /// Whether the secret of ``AccessLevel/whenPasscodeSetThisDeviceOnly`` is a sealed blob, because the TPM made no index.
    package var lacksIndex: Bool {
        hasPassword && device?.provider == .tpm2 && !isDestructible(.whenPasscodeSetThisDeviceOnly)
    }
}

extension VaultOpener {
    /// Destroys the vault's indices in the TPM that interrupted changes left behind, to make room for a new index.
    ///
    /// Does nothing while another process has locked an item. If another process has made an index for a change, that
    /// change fails with ``Status/conflict``.
    func sweepIndices(of vault: OpenVault, for device: DeviceIdentity?) {
        guard let device, device.provider == .tpm2 else { return }
        let tpm = residentKeys.devices.tpm
        let (named, vaultID) = (vault.keys.header.indexNumbers, vault.keys.vaultID)
        guard let listed = try? tpm.indices(of: vaultID, until: Devices.deadline) else { return }
        let stale = listed.filter { $0.kind == .deviceBytes && !named.contains($0.number) }
        guard !stale.isEmpty, let lock = (try? VaultLock(trying: .whole, of: vault.directory)) ?? nil else { return }
        defer { lock.release() }
        guard let present = (try? open(fresh: true)) ?? nil, present.headerFile == vault.headerFile else { return }
        let owner = TPM.IndexOwner(name: device.name, kind: .deviceBytes, vaultID: vaultID)
        for index in stale { try? tpm.destroyIndex(index.number, of: owner, until: Devices.deadline) }
    }
}
