import TokenKeepCore

/// The files `header` and `header.2`: the key hierarchy, wrapped.
struct Header {
    static let maximumLength = 65_536
    static let macLength = 32
    private static let signature = "TKHEADER"
    static let maximumSlots = 64

    let vaultID: [UInt8]
    let epoch: UInt64
    let createdAt: UnixTime
    let nameKeyID: UInt64
    let nameKeyBox: [UInt8]
    let slots: [Slot]

    /// Reads the file's bytes. Whether its MAC is right is told once the name key is open.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> (header: Header, mac: [UInt8]) {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        let slotCount = Int(try reader.integer(UInt16.self, "number of slots"))
        guard (1...maximumSlots).contains(slotCount) else { throw .malformed("its number of slots is not 1 to 64") }
        guard try reader.integer(UInt32.self, "length") == bytes.count, bytes.count <= maximumLength else {
            throw .malformed("its length is not what it says")
        }
        let vaultID = try reader.array(16, "vault id")
        let epoch = try reader.integer(UInt64.self, "epoch")
        guard epoch != 0 else { throw .malformed("its epoch is 0") }
        let createdAt = UnixTime(try reader.integer(Int64.self, "date"))
        let nameKeyID = try reader.integer(UInt64.self, "name key id")
        guard nameKeyID != 0 else { throw .malformed("its name key id is 0") }
        try reader.zeros(8, "name key")
        let nameKeyBox = try reader.array(WrappedKey.boxLength, "name key")
        var slots: [Slot] = []
        for _ in 0..<slotCount { slots.append(try Slot.parse(&reader)) }
        let mac = try reader.array(macLength, "MAC")
        try reader.end()
        let header = Header(
            vaultID: vaultID, epoch: epoch, createdAt: createdAt, nameKeyID: nameKeyID, nameKeyBox: nameKeyBox,
            slots: slots)
        return (header, mac)
    }

    /// The file's bytes but for the MAC, which is computed over them.
    func serializedWithoutMAC() -> [UInt8] {
        var body = ByteWriter(capacity: 1024)
        for slot in slots { slot.write(to: &body) }
        var writer = ByteWriter(capacity: 1024)
        writer.append(Header.signature.utf8)
        writer.append(integer: UInt16(1))
        writer.append(integer: UInt16(slots.count))
        writer.append(integer: UInt32(136 + body.bytes.count + Header.macLength))
        writer.append(vaultID)
        writer.append(integer: epoch)
        writer.append(integer: createdAt.rawValue)
        writer.append(integer: nameKeyID)
        writer.zeros(8)
        writer.append(nameKeyBox)
        writer.append(body.bytes)
        return writer.bytes
    }
}
