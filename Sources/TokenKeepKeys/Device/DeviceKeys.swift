import TokenKeepCore

/// The keys of the device slots in a vault without a password.
///
/// The device is queried at the first use of such a key, so that opening a vault queries no device.
final class DeviceKeys: Sendable {
    private let header: Header
    /// The wrapping key that is derived from the keyfile.
    private let keyfile: SecretBytes
    private let slots: DeviceSlots
    private let known = MutexGuarded<[OpenKey]?>(nil)

    /// Returns nil if the header has no device slot whose base is the keyfile.
    init?(_ header: Header, keyfile: SecretBytes, _ devices: Devices) {
        guard !header.deviceSlots(of: .keyfile).isEmpty else { return nil }
        self.header = header
        self.keyfile = keyfile
        slots = DeviceSlots(devices: devices)
    }

    /// Opens the slots. If the device does not answer, the next call queries the device again.
    func open() throws(TokenKeepError) -> DeviceSlots.Opened {
        if let keys = known.withLock({ $0 }) { return DeviceSlots.Opened(keys: keys, fault: nil) }
        let opened = try slots.open(header, .keyfile, base: keyfile)
        if opened.fault == nil { known.withLock { $0 = opened.keys } }
        return opened
    }

    func key(_ id: UInt64, for purpose: KeyPurpose) throws(FormatFault) -> SecretBytes {
        let opened = try FormatFault.needing { () throws(TokenKeepError) in try open() }
        if let key = opened.keys.first(where: { $0.id == id && $0.purpose == purpose }) { return key.bytes }
        throw opened.fault.map(FormatFault.deviceFault) ?? .unknownKey
    }
}
