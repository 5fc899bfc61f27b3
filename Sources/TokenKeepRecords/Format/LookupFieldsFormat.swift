import TokenKeepCore
import TokenKeepKeys

/// The encoding of the metadata that clients of the Secret Service give an item, as fields of a record's metadata.
///
/// The tags are those of optional fields, which an older version of TokenKeep preserves unchanged.
struct LookupFieldsFormat {
    private enum Tag {
        static let contentType: UInt16 = 0x8001
        static let label: UInt16 = 0x8002
        static let itemID: UInt16 = 0x8003
        /// All attributes in one field, because an older TokenKeep preserves an unknown field only if it occurs once.
        static let attributes: UInt16 = 0x8004
    }

    private var contentType: String?
    private var label: String?
    private var itemID: String?
    private var attributes: [String: String] = [:]

    /// Parses a field. Returns false if the tag is not one of ``Tag``.
    mutating func read(_ tag: UInt16, _ value: UnsafeRawBufferPointer) throws(FormatFault) -> Bool {
        var reader = ByteReader(value)
        switch tag {
        case Tag.contentType: contentType = try reader.text(reader.remaining, "content type")
        case Tag.label: label = try reader.text(reader.remaining, "lookup label")
        case Tag.itemID:
            let text = try reader.text(reader.remaining, "item id")
            guard Hexadecimal.bytes(text, count: 16) != nil else {
                throw .malformed("its item id is not 32 hexadecimal digits")
            }
            itemID = text
        case Tag.attributes: try readAttributes(&reader)
        default: return false
        }
        return true
    }

    private mutating func readAttributes(_ reader: inout ByteReader) throws(FormatFault) {
        var previous: String?
        while reader.remaining > 0 {
            let nameLength = Int(try reader.integer(UInt16.self, "length of a lookup attribute's name"))
            let name = try reader.text(nameLength, "lookup attribute's name")
            let valueLength = Int(try reader.integer(UInt16.self, "length of a lookup attribute's value"))
            guard previous.map({ $0.utf8.lexicographicallyPrecedes(name.utf8) }) ?? true else {
                throw .malformed("lookup attributes are given twice or out of order")
            }
            previous = name
            attributes[name] = try reader.text(valueLength, "lookup attribute's value")
        }
    }

    /// The fields that were read; nil if the item has none.
    func fields() throws(FormatFault) -> LookupFields? {
        guard let contentType else {
            guard label == nil, itemID == nil, attributes.isEmpty else {
                throw .malformed("its content type is missing")
            }
            return nil
        }
        do throws(TokenKeepError) {
            return try LookupFields(attributes: attributes, contentType: contentType, label: label, itemID: itemID)
        } catch {
            throw .malformed("its metadata is outside the limits: \(error.message)")
        }
    }

    /// Appends the fields in the order of their tags; attributes in the order of their names' bytes.
    static func write(_ fields: LookupFields, to writer: inout ByteWriter) {
        writer.append(field: Tag.contentType, fields.contentType.utf8)
        if let label = fields.label { writer.append(field: Tag.label, label.utf8) }
        if let itemID = fields.itemID { writer.append(field: Tag.itemID, itemID.utf8) }
        guard !fields.attributes.isEmpty else { return }
        var attributes = ByteWriter()
        for (name, value) in fields.attributes.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            for text in [name, value] {
                attributes.append(integer: UInt16(truncatingIfNeeded: text.utf8.count))
                attributes.append(text.utf8)
            }
        }
        writer.append(field: Tag.attributes, attributes.bytes)
    }
}
