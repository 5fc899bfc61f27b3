/// The rules for the device slots that a header may have (docs/format.md, "Device slots").
///
/// A device slot must not weaken a header: it holds the keys of levels that never leave the machine, and no other keys.
enum DeviceRules {
    /// Throws ``FormatFault/malformed(_:)`` if the rules forbid the device slots in `slots`.
    static func check(_ slots: [KnownSlot]) throws(FormatFault) {
        let devices = slots.filter { $0.type == .device }
        guard let first = devices.first else { return }
        guard devices.allSatisfy({ $0.device?.provider == first.device?.provider }) else {
            throw .malformed("its device slots have two providers")
        }
        for device in devices {
            guard let base = slots.first(where: { $0.type == device.device?.base }) else {
                throw .malformed("a device slot has a base that is not there")
            }
            guard device.derivation == base.derivation else {
                throw .malformed("a device slot has other costs or another salt than its base")
            }
            guard device.keys.allSatisfy(\.purpose.isOfDevice) else {
                throw .malformed("a device slot has a key of another level")
            }
        }
        for base in slots where base.type != .device { try check(base.type, among: devices) }
    }

    private static func check(_ base: KnownSlot.SlotType, among devices: [KnownSlot]) throws(FormatFault) {
        let keys = devices.filter { $0.device?.base == base }.flatMap(\.keys)
        guard base != .recovery || !keys.isEmpty else { return }
        guard Set(keys.map(\.id)).count == keys.count else { throw .malformed("device slots name a key twice") }
        let current = keys.filter { !$0.isRetiring }.map(\.purpose)
        let needed = DeviceSlots.levels(of: base).map(KeyPurpose.level)
        guard current.count == needed.count, Set(current) == Set(needed) else {
            throw .malformed("the device slots have not the keys that their base has")
        }
        guard base == .recovery else { return }
        let ofPassword = devices.filter { $0.device?.base == .password }.flatMap(\.keys)
        try SlotRules.check(keys, areCoveredBy: ofPassword)
    }
}
