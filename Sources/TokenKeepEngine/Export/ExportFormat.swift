import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The file of an export: a head, a frame for each item, and a last frame that counts them.
enum ExportFormat {
    static let headLength = 88
    static let maximumFrame = 2 << 20
    private static let signature = "TKEXPORT"

    /// What a frame holds.
    enum FrameKind: UInt8 {
        case item = 1
        case end = 2
    }

    static func head(_ derivation: KeyDerivation, _ commitment: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: headLength)
        writer.append(signature.utf8)
        writer.append(integer: UInt16(1))
        writer.zeros(6)
        derivation.write(to: &writer)
        writer.zeros(4)
        writer.append(integer: UnixTime.now.rawValue)
        writer.append(commitment)
        return writer.bytes
    }

    /// How the key is derived that a head asks for; the costs are within the limits.
    static func parseHead(_ reader: inout ByteReader) throws(FormatFault) -> (KeyDerivation, commitment: [UInt8]) {
        try reader.signature(signature, version: 1)
        try reader.zeros(6, "head")
        let derivation = try KeyDerivation.parse(&reader)
        guard case .argon2id = derivation else { throw .malformed("it is sealed without a password") }
        try reader.zeros(4, "head")
        _ = try reader.integer(Int64.self, "date")
        return (derivation, try reader.array(DerivedKey.commitmentLength, "commitment"))
    }

    /// What binds a frame to its file and place.
    static func additionalData(head: [UInt8], index: UInt64, _ kind: FrameKind) -> [UInt8] {
        var writer = ByteWriter(capacity: 80)
        writer.append("TKexport".utf8)
        writer.append(head)
        writer.append(integer: index)
        writer.append(integer: kind.rawValue)
        return writer.bytes
    }

    /// An item in the clear, in guarded memory.
    static func plaintext(of item: TokenItem) throws(TokenKeepError) -> SecretBytes {
        let metadata = MetadataFields(details: item.details).serialized()
        var head = ByteWriter(capacity: 12 + metadata.count)
        head.append(integer: item.details.accessLevel.rawValue)
        head.append(integer: item.details.flags.rawValue)
        head.append(integer: UInt32(metadata.count))
        head.append(metadata)
        return try SecretBytes(count: head.bytes.count + item.secret.count) { bytes in
            bytes.copyBytes(from: head.bytes)
            item.secret.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: bytes[head.bytes.count...]).copyMemory(from: $0)
            }
        }
    }

    static func parseItem(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> TokenItem {
        var reader = ByteReader(bytes)
        let number = try reader.integer(UInt32.self, "level")
        guard let level = AccessLevel(rawValue: number), !level.isThisDeviceOnly else {
            throw .malformed("an item has a level that is never exported")
        }
        let flags = ItemFlags(rawValue: try reader.integer(UInt32.self, "flags"))
        guard ItemFlags.known.isSuperset(of: flags) else { throw .malformed("an item has unknown flags") }
        let length = Int(try reader.integer(UInt32.self, "length of the metadata"))
        let metadata = try MetadataFields.parse(
            try reader.take(length, "metadata"), level: level, flags: flags)
        guard reader.remaining <= Limits.secret else { throw .malformed("a secret is too long") }
        let secret = try reader.take(reader.remaining, "secret")
        return TokenItem(
            details: metadata.details,
            secret: try FormatFault.needing { () throws(TokenKeepError) in try SecretBytes(copying: secret) }
        )
    }
}
