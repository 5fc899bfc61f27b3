/// The extension of a device slot, which says how the device provides the slot's secret (docs/format.md, "Device slots").
package struct DeviceBinding: Equatable, Sendable {
    /// How the device keeps the secret: for example as a sealed blob, or in an index of the TPM.
    enum Object: Equatable, Sendable {
        /// The device derives the secret from its own key.
        case none
        /// The bytes that the device sealed. Only this device opens them.
        case blob([UInt8])
        /// The number of the TPM's NV index that contains the secret.
        case index(UInt32)
    }

    package let provider: DeviceProvider
    /// The type of the base slot, whose key is needed in addition to the device's secret.
    let base: KnownSlot.SlotType
    /// The public name of the device's key, which identifies the device; empty for ``DeviceProvider/systemd``.
    package let name: [UInt8]
    let object: Object

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> DeviceBinding {
        var reader = ByteReader(bytes)
        guard let provider = DeviceProvider(rawValue: try reader.integer(UInt8.self, "provider of a device slot"))
        else { throw .malformed("a device slot has an unknown provider") }
        guard let base = KnownSlot.SlotType(rawValue: UInt16(try reader.integer(UInt8.self, "base of a device slot"))),
            base != .device
        else { throw .malformed("a device slot has an unknown base") }
        let form = try reader.integer(UInt8.self, "form of a device slot")
        try reader.zeros(1, "device slot")
        let nameLength = Int(try reader.integer(UInt16.self, "length of a device's name"))
        let length = Int(try reader.integer(UInt16.self, "length of a device's object"))
        guard nameLength == provider.nameLength else { throw .malformed("a device's name has a wrong length") }
        let name = try reader.array(nameLength, "name of a device")
        let object: Object
        switch (form, provider) {
        case (0, .machineKey) where length == 0: object = .none
        case (1, .tpm2) where (1...TPM.longestBlob).contains(length),
            (1, .systemd) where (1...SystemdCredentials.longestBlob).contains(length):
            object = .blob(try reader.array(length, "sealed secret of a device"))
        case (2, .tpm2) where length == 4: object = .index(try reader.integer(UInt32.self, "index of a device"))
        default: throw .malformed("a device slot has a form that its provider has not")
        }
        try reader.end()
        return DeviceBinding(provider: provider, base: base, name: name, object: object)
    }

    /// The number of the TPM's NV index that contains the secret; nil if no index contains the secret.
    var indexNumber: UInt32? {
        guard case .index(let number) = object else { return nil }
        return number
    }

    func serialized() -> [UInt8] {
        var data = ByteWriter()
        let form: UInt8
        switch object {
        case .none: form = 0
        case .blob(let blob):
            form = 1
            data.append(blob)
        case .index(let index):
            form = 2
            data.append(integer: index)
        }
        var writer = ByteWriter()
        writer.append(integer: provider.rawValue)
        writer.append(integer: UInt8(truncatingIfNeeded: base.rawValue))
        writer.append(integer: form)
        writer.zeros(1)
        writer.append(integer: UInt16(name.count))
        writer.append(integer: UInt16(data.bytes.count))
        writer.append(name)
        writer.append(data.bytes)
        return writer.bytes
    }
}

/// The identity of the device to which a vault is bound: the provider, and the device's public name or a blob.
package struct DeviceIdentity: Equatable, Sendable {
    package let provider: DeviceProvider
    /// The public name of the device's key.
    package let name: [UInt8]
    /// A blob that only this device can open; nil if the device's name identifies the device.
    let sealed: [UInt8]?

    package init(provider: DeviceProvider, name: [UInt8]) {
        self.provider = provider
        self.name = name
        sealed = nil
    }

    /// The PCRs of the TPM to whose values the device's secret is bound. A firmware update changes these values.
    package var registers: [Int] { sealed.map(SystemdCredentials.registers(of:)) ?? [] }

    init(of binding: DeviceBinding) {
        provider = binding.provider
        name = binding.name
        if binding.provider == .systemd, case .blob(let blob) = binding.object { sealed = blob } else { sealed = nil }
    }
}
