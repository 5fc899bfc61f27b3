package import TokenKeepCore
package import TokenKeepKeys

/// The plaintext of one item in an export file (docs/format.md, section 7).
package enum ExportedItem {
    private static let headLength = 12
    private static let maximumMetadata = 65_536

    /// Encodes an item for an export file, in guarded memory.
    package static func plaintext(of item: TokenItem) throws(TokenKeepError) -> SecretBytes {
        let metadata = MetadataFields(details: item.details).serialized()
        var head = ByteWriter(capacity: headLength + metadata.count)
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

    /// Decodes an item of an export file.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> TokenItem {
        var reader = ByteReader(bytes)
        let number = try reader.integer(UInt32.self, "level")
        guard let level = AccessLevel(rawValue: number), !level.isThisDeviceOnly else {
            throw .malformed("an item has a level that is never exported")
        }
        let flags = ItemFlags(rawValue: try reader.integer(UInt32.self, "flags"))
        guard ItemFlags.known.isSuperset(of: flags) else { throw .malformed("an item has unknown flags") }
        let length = Int(try reader.integer(UInt32.self, "length of the metadata"))
        guard length <= maximumMetadata else { throw .malformed("an item's metadata are too long") }
        let metadata = try MetadataFields.parse(try reader.take(length, "metadata"), level: level, flags: flags)
        guard reader.remaining <= Limits.secret else { throw .malformed("a secret is too long") }
        let secret = try reader.take(reader.remaining, "secret")
        return TokenItem(
            details: metadata.details,
            secret: try FormatFault.needing { () throws(TokenKeepError) in try SecretBytes(copying: secret) })
    }
}
