import TokenKeepCore

/// The content of the files `header` and `header.2`: the vault's encrypted keys (docs/format.md, section 3).
package struct Header: Equatable, Sendable {
    package static let maximumLength = 65_536
    static let maximumSlots = 64
    private static let signature = "TKHEADER"
    private static let headLength = 216

    package let vaultID: [UInt8]
    package let era: UInt64
    package let epoch: UInt64
    let createdAt: UnixTime
    /// The encrypted name key, from which the file names of records are computed.
    ///
    /// The keyfile opens this key and ``journalKey``.
    let nameKey: WrappedKey
    let journalKey: WrappedKey
    package let slots: [Slot]
    /// The keys in the header's slots of known types, in the order of the slots.
    let listedKeys: [ListedKey]
    /// Whether the vault has a password.
    package let hasPassword: Bool

    init(
        vaultID: [UInt8], era: UInt64, epoch: UInt64, createdAt: UnixTime, nameKey: WrappedKey, journalKey: WrappedKey,
        slots: [Slot]
    ) {
        self.vaultID = vaultID
        self.era = era
        self.epoch = epoch
        self.createdAt = createdAt
        self.nameKey = nameKey
        self.journalKey = journalKey
        self.slots = slots
        let known = Header.known(slots)
        listedKeys = known.flatMap { slot in slot.keys.map(ListedKey.init) }
        hasPassword = known.contains { $0.type == .password }
    }

    /// Parses a header file. The caller must then check the MACs at the end of the file, which needs decrypted keys.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> Header {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        let slotCount = Int(try reader.integer(UInt16.self, "number of slots"))
        guard (1...maximumSlots).contains(slotCount) else { throw .malformed("its number of slots is not 1 to 64") }
        guard try reader.integer(UInt32.self, "length") == bytes.count, bytes.count <= maximumLength else {
            throw .malformed("its length is not what it says")
        }
        let vaultID = try reader.array(16, "vault id")
        let era = try reader.integer(UInt64.self, "era")
        let epoch = try reader.integer(UInt64.self, "epoch")
        guard era != 0, epoch != 0 else { throw .malformed("its era or epoch is 0") }
        let createdAt = UnixTime(try reader.integer(Int64.self, "date"))
        let nameKey = try WrappedKey.parse(&reader, ofKeyfile: .name)
        let journalKey = try WrappedKey.parse(&reader, ofKeyfile: .journal)
        var slots: [Slot] = []
        for _ in 0..<slotCount { slots.append(try Slot.parse(&reader)) }
        _ = try reader.take(HeaderMAC.length * 2, "MACs")
        try reader.end()
        try SlotRules.check(slots)
        return Header(
            vaultID: vaultID, era: era, epoch: epoch, createdAt: createdAt, nameKey: nameKey, journalKey: journalKey,
            slots: slots)
    }

    /// The bytes of the header file, except the authentication codes (MACs) at the end of the file.
    func serializedWithoutMACs() -> [UInt8] {
        var body = ByteWriter(capacity: 1024)
        for slot in slots { slot.write(to: &body) }
        var writer = ByteWriter(capacity: 1024)
        writer.append(Header.signature.utf8)
        writer.append(integer: UInt16(1))
        writer.append(integer: UInt16(slots.count))
        writer.append(integer: UInt32(Header.headLength + body.bytes.count + HeaderMAC.length * 2))
        writer.append(vaultID)
        writer.append(integer: era)
        writer.append(integer: epoch)
        writer.append(integer: createdAt.rawValue)
        for key in [nameKey, journalKey] {
            writer.append(integer: key.id)
            writer.append(key.box)
        }
        writer.append(body.bytes)
        return writer.bytes
    }

    /// A copy of the header with other slots. The epoch, which counts the header's changes, is one higher.
    ///
    /// - Throws: ``Status/unsupported`` if the epoch is the highest possible number.
    func with(slots: [Slot]) throws(TokenKeepError) -> Header {
        guard epoch < UInt64.max else {
            throw TokenKeepError(
                .unsupported, "the vault's header has the last epoch: it can be changed no more", module: "vault",
                hint: "new keys begin anew: tokenkeep password change --compromised")
        }
        return Header(
            vaultID: vaultID, era: era, epoch: epoch + 1, createdAt: createdAt, nameKey: nameKey,
            journalKey: journalKey, slots: slots)
    }
}

/// The purpose and id of a key in the header, without the encrypted key itself.
struct ListedKey: Equatable, Sendable {
    let purpose: KeyPurpose
    let isRetiring: Bool
    let id: UInt64

    init(_ key: WrappedKey) { (purpose, isRetiring, id) = (key.purpose, key.isRetiring, key.id) }
}

extension Header {
    /// The header's slots whose types this version knows. Each slot is one way to open the vault's keys.
    package var knownSlots: [KnownSlot] { Header.known(slots) }

    private static func known(_ slots: [Slot]) -> [KnownSlot] {
        slots.compactMap { slot in
            guard case .known(let known) = slot else { return nil }
            return known
        }
    }

    /// The header's slot of this type, one way to open the vault's keys; nil if there is none.
    package func slot(_ type: KnownSlot.SlotType) -> KnownSlot? { knownSlots.first { $0.type == type } }

    /// The header's slots, except those of the given types and the device slots that are based on these types.
    ///
    /// A slot is one way to open the vault's keys.
    package func slots(without types: Set<KnownSlot.SlotType>) -> [Slot] {
        slots.filter { slot in
            guard case .known(let known) = slot else { return true }
            return !types.contains(known.type) && known.device.map { types.contains($0.base) } != true
        }
    }

    /// The header's device slots whose keys need two secrets: the device's and that of the slot `base`.
    func deviceSlots(of base: KnownSlot.SlotType) -> [KnownSlot] { knownSlots.filter { $0.device?.base == base } }

    /// Whether the recovery code also opens the keys of levels that need a device; nil if there is no recovery code.
    package var isRecoverable: Bool? { slot(.recovery).map { _ in !deviceSlots(of: .recovery).isEmpty } }

    /// The device that the vault is bound to; nil if there is none.
    package var device: DeviceIdentity? {
        knownSlots.lazy.compactMap(\.device).first.map(DeviceIdentity.init(of:))
    }

    /// The types of slots in this header that this version does not know.
    package var unknownTypes: [UInt16] {
        slots.compactMap { slot in
            guard case .other(let type, _) = slot else { return nil }
            return type
        }
    }

    /// Whether the header has a retiring key: a replaced key, kept to decrypt items in other modules.
    package var hasRetiringKeys: Bool { listedKeys.contains(where: \.isRetiring) }

    /// Whether the header contains a key with this purpose and id.
    package func names(_ id: UInt64, _ purpose: KeyPurpose) -> Bool {
        listedKeys.contains { $0.id == id && $0.purpose == purpose }
    }
}
