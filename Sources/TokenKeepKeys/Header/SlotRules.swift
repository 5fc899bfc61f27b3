/// The rules for the slots that a header may have (docs/format.md, "Which slots may stand together").
///
/// A slot is one way to open the vault's keys. If the vault has a password, the keyfile alone must not open the keys
/// that encrypt items. To ensure this, the rules refuse a header with a password slot and a keyfile slot.
enum SlotRules {
    /// Throws ``FormatFault/malformed(_:)`` if the rules forbid this combination of slots in a header.
    static func check(_ slots: [Slot]) throws(FormatFault) {
        let known = slots.compactMap { slot -> KnownSlot? in
            guard case .known(let known) = slot else { return nil }
            return known
        }
        let keyfiles = known.filter { $0.type == .keyfile }
        let passwords = known.filter { $0.type == .password }
        let recoveries = known.filter { $0.type == .recovery }
        switch (keyfiles.count, passwords.count, recoveries.count) {
        case (1, 0, 0), (0, 1, 0...1): break
        default: throw .malformed("its slots may not stand together")
        }
        for slot in known { try checkNothingTwice(in: slot) }
        for slot in known where slot.type != .device { try checkKeys(of: slot) }
        if let recovery = recoveries.first, let password = passwords.first {
            try check(recovery.keys, areCoveredBy: password.keys)
        }
        try DeviceRules.check(known)
    }

    private static func checkNothingTwice(in slot: KnownSlot) throws(FormatFault) {
        guard Set(slot.keys.map(\.id)).count == slot.keys.count else { throw .malformed("a slot names a key twice") }
        let current = slot.keys.filter { !$0.isRetiring }.map(\.purpose)
        guard Set(current).count == current.count else { throw .malformed("a slot has two current keys of a purpose") }
    }

    private static func checkKeys(of slot: KnownSlot) throws(FormatFault) {
        let current = slot.keys.filter { !$0.isRetiring }.map(\.purpose)
        let needed = EraKeys.purposes(withPassword: slot.type == .password)
        guard current.count == needed.count, Set(current) == Set(needed) else {
            throw .malformed("a slot has not the keys that its type has")
        }
        guard slot.type == .password || !slot.keys.contains(where: { $0.purpose == .presence }) else {
            throw .malformed("a slot has a presence key that its type has not")
        }
        guard !slot.keys.contains(where: \.purpose.isOfDevice) else {
            throw .malformed("a slot has a key that only device slots have")
        }
    }

    static func check(_ recovery: [WrappedKey], areCoveredBy password: [WrappedKey]) throws(FormatFault) {
        let isCovered = recovery.allSatisfy { key in
            password.contains {
                $0.id == key.id && $0.purpose == key.purpose && $0.isRetiring == key.isRetiring
            }
        }
        guard isCovered else { throw .malformed("the recovery slot has a key that the password's slot has not") }
    }
}
