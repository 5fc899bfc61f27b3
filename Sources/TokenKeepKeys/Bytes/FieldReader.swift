/// Reads the fields of an encrypted part of an item's file. The tags (numbers) of the fields must ascend.
package struct FieldReader {
    /// The lowest tag (number) of an optional field. A reader that does not know an optional field keeps it unchanged.
    package static let firstOptional: UInt16 = 0x8000

    private var reader: ByteReader
    private var last: UInt16 = 0
    /// The tags (numbers of fields) that may occur repeatedly; nil for none.
    private let repeating: (UInt16?, UInt16?)

    /// - Parameters:
    ///   - repeating: the tag of a field that may occur repeatedly; nil for none.
    ///   - other: the tag of a second such field; nil for none.
    package init(_ bytes: UnsafeRawBufferPointer, repeating: UInt16? = nil, _ other: UInt16? = nil) {
        reader = ByteReader(bytes)
        self.repeating = (repeating, other)
    }

    /// Reads the next field. Returns nil at the end of the bytes.
    package mutating func next() throws(FormatFault) -> (tag: UInt16, value: UnsafeRawBufferPointer)? {
        guard reader.remaining > 0 else { return nil }
        let tag = try reader.integer(UInt16.self, "tag of a field")
        guard tag > last || (tag == last && (tag == repeating.0 || tag == repeating.1)) else {
            throw .malformed("its fields are out of order")
        }
        last = tag
        let length = try reader.integer(UInt32.self, "length of a field")
        return (tag, try reader.take(Int(length), "field"))
    }
}
