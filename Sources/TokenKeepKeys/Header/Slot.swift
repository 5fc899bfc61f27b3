import TokenKeepCore

/// A slot of the header: one way to open the vault's keys, for example with a password.
package enum Slot: Equatable, Sendable {
    /// A header slot (one way to open the vault's keys) of a type that this version knows.
    case known(KnownSlot)
    /// A header slot of a type that this version does not know, kept unchanged.
    case other(type: UInt16, bytes: [UInt8])

    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> Slot {
        let number = try reader.integer(UInt16.self, "type of a slot")
        try reader.zeros(2, "slot")
        let length = try reader.integer(UInt32.self, "length of a slot")
        let bytes = try reader.take(Int(length), "slot")
        guard let type = KnownSlot.SlotType(rawValue: number) else { return .other(type: number, bytes: Array(bytes)) }
        return .known(try KnownSlot.parse(bytes, type: type))
    }

    func write(to writer: inout ByteWriter) {
        let (type, bytes) =
            switch self {
            case .known(let slot): (slot.type.rawValue, slot.serialized())
            case .other(let type, let bytes): (type, bytes)
            }
        writer.append(integer: type)
        writer.zeros(2)
        writer.append(integer: UInt32(bytes.count))
        writer.append(bytes)
    }
}

/// A slot of one of the types that this version knows: keyfile, password, recovery code, device.
package struct KnownSlot: Equatable, Sendable {
    package enum SlotType: UInt16, Sendable {
        case keyfile = 1
        case password = 2
        case recovery = 3
        case device = 4

        fileprivate func allows(_ derivation: KeyDerivation) -> Bool {
            switch self {
            case .keyfile: derivation == .subkey
            case .password, .recovery: derivation != .subkey
            case .device: true
            }
        }
    }

    package let type: SlotType
    package let id: UInt64
    package let derivation: KeyDerivation
    let createdAt: UnixTime
    let commitment: [UInt8]
    package let keys: [WrappedKey]
    /// The data with which the device provides the slot's secret; nil unless the slot is a device slot.
    package let device: DeviceBinding?

    private static let maximumKeys = 64

    fileprivate static func parse(_ bytes: UnsafeRawBufferPointer, type: SlotType) throws(FormatFault) -> KnownSlot {
        var reader = ByteReader(bytes)
        let id = try reader.integer(UInt64.self, "slot id")
        guard id != 0 else { throw .malformed("a slot id is 0") }
        let derivation = try KeyDerivation.parse(&reader)
        guard type.allows(derivation) else { throw .malformed("a slot has a key derivation that its type has not") }
        let createdAt = UnixTime(try reader.integer(Int64.self, "date of a slot"))
        let count = Int(try reader.integer(UInt16.self, "number of wrapped keys"))
        guard count <= maximumKeys else { throw .malformed("a slot has more than \(maximumKeys) keys") }
        try reader.zeros(2, "slot")
        let extensionLength = try reader.integer(UInt32.self, "length of a slot's extension")
        let commitment = try reader.array(DerivedKey.commitmentLength, "commitment")
        var keys: [WrappedKey] = []
        for _ in 0..<count { keys.append(try WrappedKey.parse(&reader)) }
        let rest = try reader.take(Int(extensionLength), "extension of a slot")
        guard type == .device || rest.isEmpty else { throw .malformed("a slot has an extension that its type has not") }
        let device = type == .device ? try DeviceBinding.parse(rest) : nil
        try reader.end()
        return KnownSlot(
            type: type, id: id, derivation: derivation, createdAt: createdAt, commitment: commitment, keys: keys,
            device: device)
    }

    fileprivate func serialized() -> [UInt8] {
        let `extension` = device?.serialized() ?? []
        var writer = ByteWriter()
        writer.append(integer: id)
        derivation.write(to: &writer)
        writer.append(integer: createdAt.rawValue)
        writer.append(integer: UInt16(keys.count))
        writer.zeros(2)
        writer.append(integer: UInt32(`extension`.count))
        writer.append(commitment)
        for key in keys { key.write(to: &writer) }
        writer.append(`extension`)
        return writer.bytes
    }

    /// The slot's current key for this purpose, which encrypts new data; nil if the slot has no such key.
    func current(_ purpose: KeyPurpose) -> WrappedKey? { keys.first { $0.purpose == purpose && !$0.isRetiring } }
}
