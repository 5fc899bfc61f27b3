extension Header {
    /// The slots of a type that this version knows.
    func slots(of type: KnownSlot.SlotType) -> [KnownSlot] {
        slots.compactMap { slot in
            guard case .known(let known) = slot, known.type == type else { return nil }
            return known
        }
    }

    /// Whether a password opens what is written now.
    var hasPassword: Bool { slots(of: .password).contains { $0.keys.contains { !$0.isRetiring } } }

    /// Whether records may be sealed under keys that are being replaced.
    var isRekeying: Bool { slots.contains { $0.keys.contains(where: \.isRetiring) } }

    /// The ids of every key in it.
    var keyIDs: Set<UInt64> { Set(slots.flatMap(\.keys).map(\.id)) }

    /// The purposes that have a current key in any slot.
    func hasCurrentKey(for purpose: KeyPurpose) -> Bool {
        slots.contains { $0.keys.contains { $0.purpose == purpose && !$0.isRetiring } }
    }

    /// The next header, with other slots.
    func with(slots: [Slot]) -> Header {
        Header(
            vaultID: vaultID, epoch: epoch &+ 1, createdAt: createdAt, nameKeyID: nameKeyID, nameKeyBox: nameKeyBox,
            slots: slots)
    }

    /// The slots but those of some types.
    func slots(but types: Set<KnownSlot.SlotType>) -> [Slot] {
        slots.filter { slot in
            guard case .known(let known) = slot else { return true }
            return !types.contains(known.type)
        }
    }

    /// The slots without the keys that are being replaced; one that has no other goes.
    var slotsWithoutRetiringKeys: [Slot] {
        slots.compactMap { slot in
            guard case .known(let known) = slot, known.keys.contains(where: \.isRetiring) else { return slot }
            let keys = known.keys.filter { !$0.isRetiring }
            guard !keys.isEmpty else { return nil }
            return .known(
                KnownSlot(
                    type: known.type, id: known.id, derivation: known.derivation, createdAt: known.createdAt,
                    keys: keys, extension: known.extension))
        }
    }
}

extension KeyHierarchy.Entry {
    /// The same key, replaced by another: it opens old records and seals no new ones.
    var retiring: KeyHierarchy.Entry { KeyHierarchy.Entry(purpose: purpose, isRetiring: true, id: id, key: key) }
}
