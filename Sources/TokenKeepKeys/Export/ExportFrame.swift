/// A frame of an export file: a length, a kind and an encrypted part (docs/format.md, section 7).
struct ExportFrame {
    /// The kind of content of a frame (one part of an export file).
    enum Kind: UInt8 {
        case item = 1
        case end = 2
    }

    /// The length in bytes of a frame's unencrypted part, which contains the frame's length and kind.
    static let prefixLength = 5
    /// The maximum length of a frame's encrypted part, in bytes: an item with the longest metadata and the longest secret.
    static let maximumBox = 12 + 65_536 + 1_048_576 + AuthenticatedBox.overhead

    let kind: Kind
    let boxLength: Int

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> ExportFrame {
        var reader = ByteReader(bytes)
        let length = Int(try reader.integer(UInt32.self, "length of a frame"))
        guard length <= maximumBox else { throw .malformed("a frame is too long") }
        guard let kind = Kind(rawValue: try reader.integer(UInt8.self, "kind of a frame")) else {
            throw .malformed("a frame is of an unknown kind")
        }
        return ExportFrame(kind: kind, boxLength: length)
    }

    /// The data authenticated with a frame, so that a frame moved to another position or file is refused.
    static func additionalData(head: [UInt8], index: UInt64, _ kind: Kind) -> [UInt8] {
        var writer = ByteWriter(capacity: 112)
        writer.append("TKexport".utf8)
        writer.append(head)
        writer.append(integer: index)
        writer.append(integer: kind.rawValue)
        return writer.bytes
    }
}
