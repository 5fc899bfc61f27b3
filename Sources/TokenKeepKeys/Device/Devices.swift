import TokenKeepCore

/// The devices of this machine, as the vault's device slots use them.
///
/// No call takes longer than ``budgetMilliseconds``. Every answer is untrusted: a wrong one opens nothing.
package struct Devices: Sendable {
    /// The longest time that a device may take at an unlock, in milliseconds.
    package static let budgetMilliseconds: UInt32 = 2000

    /// The path of the machine key. Another one only in tests.
    package var machineKeyPath = MachineKey.standardPath

    package init() {}

    /// The binding of a slot, and the secret that the device gives for the slot.
    struct Bound {
        let binding: DeviceBinding
        let secret: SecretBytes
    }

    /// The secret that a device gives for a slot.
    ///
    /// - Parameter base: the key-encryption key of the slot's base.
    func secret(for binding: DeviceBinding, base: SecretBytes) throws(DeviceFault) -> SecretBytes {
        switch binding.provider {
        case .machineKey: return try machineKey(named: binding.name).secret
        case .tpm2: throw DeviceFault(.absent, "this version cannot ask a TPM")
        }
    }

    /// Makes the binding of a new slot.
    func bind(
        to device: DeviceIdentity, base: SecretBytes, _ type: KnownSlot.SlotType
    ) throws(DeviceFault) -> Bound {
        switch device.provider {
        case .machineKey:
            return Bound(
                binding: DeviceBinding(provider: .machineKey, base: type, name: device.name, object: .none),
                secret: try machineKey(named: device.name).secret)
        case .tpm2: throw DeviceFault(.absent, "this version cannot ask a TPM")
        }
    }

    /// The device of a provider that is there now.
    package func identity(of provider: DeviceProvider) throws(DeviceFault) -> DeviceIdentity {
        switch provider {
        case .machineKey: DeviceIdentity(provider: provider, name: try MachineKey.read(machineKeyPath).name)
        case .tpm2: throw DeviceFault(.absent, "this version cannot ask a TPM")
        }
    }

    /// The providers that this machine has, the best first.
    package var available: [DeviceProvider] { DeviceProvider.supported.filter { (try? identity(of: $0)) != nil } }

    /// The fault of a device that the vault is bound to; nil if the device answers and is the vault's.
    package func fault(of device: DeviceIdentity) -> DeviceFault? {
        do throws(DeviceFault) {
            guard try identity(of: device.provider) == device else { return Devices.other(device.provider) }
            return nil
        } catch {
            return error
        }
    }

    private func machineKey(named name: [UInt8]) throws(DeviceFault) -> MachineKey {
        let key = try MachineKey.read(machineKeyPath)
        guard key.name == name else { throw Devices.other(.machineKey) }
        return key
    }

    static func other(_ provider: DeviceProvider) -> DeviceFault {
        switch provider {
        case .machineKey: DeviceFault(.other, "the machine key here is not that of the vault")
        case .tpm2: DeviceFault(.other, "the TPM here is not that of the vault, or it was cleared")
        }
    }
}
