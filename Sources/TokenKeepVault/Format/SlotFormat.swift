import TokenKeepCore

/// One way to unwrap keys, as it stands in the header.
enum Slot: Equatable {
    /// A slot of a type that this version knows.
    case known(KnownSlot)
    /// A slot of another type: kept as it is.
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

/// A slot of one of the four types of version 1.
struct KnownSlot: Equatable {
    enum SlotType: UInt16 {
        case keyfile = 1
        case password = 2
        case recovery = 3
        case device = 4

        func allows(_ derivation: KeyDerivation) -> Bool {
            switch self {
            case .keyfile: derivation == .subkey
            case .password, .recovery: derivation != .subkey
            case .device: true
            }
        }
    }

    let type: SlotType
    let id: UInt64
    let derivation: KeyDerivation
    let createdAt: UnixTime
    let keys: [WrappedKey]
    let `extension`: [UInt8]

    private static let maximumKeys = 64

    static func parse(_ bytes: UnsafeRawBufferPointer, type: SlotType) throws(FormatFault) -> KnownSlot {
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
        var keys: [WrappedKey] = []
        for _ in 0..<count { keys.append(try WrappedKey.parse(&reader)) }
        guard Set(keys.map { [$0.purpose.number, $0.isRetiring ? 1 : 0] }).count == keys.count else {
            throw .malformed("a slot has two keys of one purpose")
        }
        let rest = try reader.array(Int(extensionLength), "extension of a slot")
        guard type == .device || rest.isEmpty else { throw .malformed("a slot has an extension that its type has not") }
        try reader.end()
        return KnownSlot(
            type: type, id: id, derivation: derivation, createdAt: createdAt, keys: keys, extension: rest)
    }

    func serialized() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(integer: id)
        derivation.write(to: &writer)
        writer.append(integer: createdAt.rawValue)
        writer.append(integer: UInt16(keys.count))
        writer.zeros(2)
        writer.append(integer: UInt32(`extension`.count))
        for key in keys { key.write(to: &writer) }
        writer.append(`extension`)
        return writer.bytes
    }
}

/// How a slot's key-encryption key is made.
enum KeyDerivation: Equatable {
    /// From a random key.
    case subkey
    /// From a password, by Argon2id.
    case argon2id(passes: UInt32, memoryKiB: UInt32, salt: [UInt8])

    static let maximumPasses: UInt32 = 16
    static let maximumMemoryKiB: UInt32 = 1 << 20

    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> KeyDerivation {
        let number = try reader.integer(UInt8.self, "key derivation")
        try reader.zeros(3, "key derivation")
        let passes = try reader.integer(UInt32.self, "passes")
        let memory = try reader.integer(UInt32.self, "memory")
        let salt = try reader.array(16, "salt")
        switch number {
        case 0:
            guard passes == 0, memory == 0, salt.allSatisfy({ $0 == 0 }) else {
                throw .malformed("a slot without a password has costs")
            }
            return .subkey
        case 1:
            guard (1...maximumPasses).contains(passes), (8...maximumMemoryKiB).contains(memory) else {
                throw .malformed("a slot asks for \(passes) passes over \(memory) KiB, outside what is allowed")
            }
            return .argon2id(passes: passes, memoryKiB: memory, salt: salt)
        default: throw .malformed("a slot has an unknown key derivation")
        }
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .subkey:
            writer.zeros(28)
        case .argon2id(let passes, let memory, let salt):
            writer.append(integer: UInt8(1))
            writer.zeros(3)
            writer.append(integer: passes)
            writer.append(integer: memory)
            writer.append(salt)
        }
    }
}

/// A key of the hierarchy, sealed under a slot's key-encryption key.
struct WrappedKey: Equatable {
    let purpose: KeyPurpose
    let isRetiring: Bool
    let id: UInt64
    let box: [UInt8]

    static let boxLength = 72

    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> WrappedKey {
        guard let purpose = KeyPurpose(number: try reader.integer(UInt8.self, "purpose of a key")), purpose != .name
        else { throw .malformed("a wrapped key has an unknown purpose") }
        let state = try reader.integer(UInt8.self, "state of a key")
        guard state <= 1 else { throw .malformed("a wrapped key has an unknown state") }
        try reader.zeros(6, "wrapped key")
        let id = try reader.integer(UInt64.self, "key id")
        guard id != 0 else { throw .malformed("a key id is 0") }
        try reader.zeros(8, "wrapped key")
        return WrappedKey(
            purpose: purpose, isRetiring: state == 1, id: id, box: try reader.array(boxLength, "wrapped key"))
    }

    func write(to writer: inout ByteWriter) {
        writer.append(integer: purpose.number)
        writer.append(integer: UInt8(isRetiring ? 1 : 0))
        writer.zeros(6)
        writer.append(integer: id)
        writer.zeros(8)
        writer.append(box)
    }

    /// What binds a wrapped key to its place.
    static func additionalData(
        vaultID: [UInt8], slotType: UInt16, slotID: UInt64, purpose: KeyPurpose, isRetiring: Bool, id: UInt64
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.append("TKwrappedkey".utf8)
        writer.append(integer: UInt16(1))
        writer.append(vaultID)
        writer.append(integer: slotType)
        writer.append(integer: slotID)
        writer.append(integer: purpose.number)
        writer.append(integer: UInt8(isRetiring ? 1 : 0))
        writer.append(integer: id)
        return writer.bytes
    }
}
