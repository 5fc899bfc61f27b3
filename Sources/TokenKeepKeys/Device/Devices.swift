import TokenKeepCore

/// The devices of this machine that provide secrets for the vault's device slots.
///
/// No call takes longer than ``budgetMilliseconds``. Every answer is untrusted: a wrong answer opens no slot.
package struct Devices: Sendable {
    /// The maximum time, in milliseconds, that an unlock waits for devices.
    package static let budgetMilliseconds: UInt32 = 2000

    /// The path of the machine key. Only tests change this path.
    package var machineKeyPath = MachineKey.standardPath
    /// The machine's TPM.
    package var tpm = TPM()
    /// The machine's systemd service for credentials.
    package var systemd = SystemdCredentials()
    private let lastCheck = MutexGuarded<Check?>(nil)
    let lastAnchor = MutexGuarded<AnchorReport?>(nil)

    package init() {}

    /// The deadline of a call to a device that begins now.
    static var deadline: Deadline { Deadline(milliseconds: budgetMilliseconds) }

    /// The binding of a slot, and the secret that the device provides for the slot.
    struct Bound {
        let binding: DeviceBinding
        let secret: SecretBytes
    }

    /// Gets a slot's secret from the slot's device.
    ///
    /// - Parameters:
    ///   - base: the key-encryption key of the slot's base.
    ///   - vaultID: the id of the slot's vault.
    func secret(
        for binding: DeviceBinding, base: SecretBytes, of vaultID: [UInt8], until deadline: Deadline = Devices.deadline
    ) throws(DeviceFault) -> SecretBytes {
        switch binding.provider {
        case .machineKey: return try machineKey(named: binding.name).secret
        case .tpm2:
            guard case .blob(let blob) = binding.object else {
                return try secretOfIndex(binding, base: base, of: vaultID, until: deadline)
            }
            return try tpm.unseal(
                blob, authValue: try Devices.authValue(from: base, for: binding.name), under: binding.name,
                until: deadline)
        case .systemd:
            guard case .blob(let blob) = binding.object else { throw CredentialsReply.malformed }
            return try systemd.decrypt(blob, until: deadline)
        }
    }

    /// Makes the binding and the secret of a new slot.
    func bind(
        to device: DeviceIdentity, base: SecretBytes, _ type: KnownSlot.SlotType, of vaultID: [UInt8]
    ) throws(DeviceFault) -> Bound {
        let object: DeviceBinding.Object
        let secret: SecretBytes
        switch device.provider {
        case .machineKey: (object, secret) = (.none, try machineKey(named: device.name).secret)
        case .tpm2:
            secret = try DeviceFault.needing { () throws(TokenKeepError) in
                try SecretBytes(randomCount: TPM.secretLength)
            }
            let authValue = try Devices.authValue(from: base, for: device.name)
            object = .blob(
                try tpm.seal(secret, authValue: authValue, under: device.name, until: Devices.deadline))
        case .systemd:
            secret = try DeviceFault.needing { () throws(TokenKeepError) in
                try SecretBytes(randomCount: SystemdCredentials.secretLength)
            }
            object = .blob(try systemd.encrypt(secret, until: Devices.deadline))
        }
        let binding = DeviceBinding(provider: device.provider, base: type, name: device.name, object: object)
        // Check that the blob opens: items are saved under the new keys at once, and would be lost with these keys.
        guard try self.secret(for: binding, base: base, of: vaultID) == secret else {
            throw Devices.other(device.provider)
        }
        return Bound(binding: binding, secret: secret)
    }

    /// Derives the authValue that the TPM requires to open a slot's blob (`number` 1) or index (`number` 2).
    ///
    /// Each name has its own authValue. If attackers write the name of their own key into the header, they get an
    /// authValue that opens nothing in the vault's TPM.
    static func authValue(
        from base: SecretBytes, number: UInt64 = 1, for name: [UInt8]
    ) throws(DeviceFault) -> SecretBytes {
        try DeviceFault.needing { () throws(TokenKeepError) in
            let key = try Subkey.derive(from: base, number: number, context: "TKtpmaut")
            return try name.lent { name throws(TokenKeepError) in
                try Subkey.hash(TPM.secretLength, of: name, key: key)
            }
        }
    }

    /// Identifies the present device of a provider.
    package func identity(of provider: DeviceProvider) throws(DeviceFault) -> DeviceIdentity {
        let name: [UInt8]
        switch provider {
        case .machineKey: name = try MachineKey.read(machineKeyPath).name
        case .tpm2: name = try tpm.describe(until: Devices.deadline).name
        case .systemd:
            try systemd.check(until: Devices.deadline)
            name = []
        }
        return DeviceIdentity(provider: provider, name: name)
    }

    private func machineKey(named name: [UInt8]) throws(DeviceFault) -> MachineKey {
        let key = try MachineKey.read(machineKeyPath)
        guard key.name == name else { throw Devices.other(.machineKey) }
        return key
    }

    static func other(_ provider: DeviceProvider) -> DeviceFault {
        switch provider {
        case .machineKey: DeviceFault(.other, "the machine key here is not that of the vault")
        case .tpm2, .systemd: DeviceFault(.other, "the TPM here is not that of the vault, or it was cleared")
        }
    }
}

// MARK: Reports

extension Devices {
    /// The devices of this machine, for a report.
    package struct Survey: Sendable {
        /// The providers that this machine has, in the order of preference.
        package let available: [DeviceProvider]
        /// The fault of the device that the vault is bound to; nil if that device answers, or if there is none.
        package let fault: DeviceFault?
        /// How this process reaches the TPM: directly or through root's helper; nil if there is no TPM.
        package let way: TPMPlaces.Way?
        /// The TPM's manufacturer, as the TPM reports it; nil if the TPM does not answer.
        package let maker: String?
    }

    /// The result of a check of a device, which is reused until `end`.
    private struct Check: Sendable {
        let device: DeviceIdentity
        let fault: DeviceFault?
        let end: Deadline
    }

    /// Queries each device of this machine.
    ///
    /// - Parameter device: the device that the vault is bound to; nil if it is bound to none.
    package func survey(for device: DeviceIdentity?) -> Survey {
        let deadline = Devices.deadline
        var found: TPM.Description?
        var absence: DeviceFault?
        do throws(DeviceFault) {
            found = try tpm.describe(until: deadline)
        } catch {
            absence = error
        }
        var available: [DeviceProvider] = found == nil ? [] : [.tpm2]
        if (try? systemd.check(until: Devices.deadline)) != nil { available.append(.systemd) }
        if (try? MachineKey.read(machineKeyPath)) != nil { available.append(.machineKey) }
        let fault = device.flatMap { device in
            guard device.provider == .tpm2 else { return self.fault(of: device, until: Devices.deadline) }
            // The vault may be bound to a second primary of the TPM, which makes no new seals, so query that primary by
            // its name.
            return found?.name == device.name ? nil : absence ?? self.fault(of: device, until: deadline)
        }
        let way = absence?.kind == .absent ? nil : (try? tpm.places.access())?.way
        return Survey(available: available, fault: fault, way: way, maker: found?.maker)
    }

    /// The fault of a device that the vault is bound to; nil if the device answers and is the vault's.
    ///
    /// A result is reused for five seconds, because a report has a line for each level and module.
    package func fault(of device: DeviceIdentity) -> DeviceFault? {
        guard device.provider != .machineKey else { return fault(of: device, until: Devices.deadline) }
        if let last = lastCheck.withLock({ $0 }), last.device == device, !last.end.hasPassed { return last.fault }
        let fault = fault(of: device, until: Devices.deadline)
        lastCheck.withLock { $0 = Check(device: device, fault: fault, end: Deadline(milliseconds: 5000)) }
        return fault
    }

    private func fault(of device: DeviceIdentity, until deadline: Deadline) -> DeviceFault? {
        do throws(DeviceFault) {
            switch device.provider {
            case .machineKey: _ = try machineKey(named: device.name)
            case .tpm2: _ = try tpm.describe(named: device.name, until: deadline)
            case .systemd: if let sealed = device.sealed { _ = try systemd.decrypt(sealed, until: deadline) }
            }
            return nil
        } catch {
            return error
        }
    }
}
