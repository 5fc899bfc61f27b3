/// Builds the bytes of a file, or of an encrypted part of a file, field by field.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func append(_ part: UnsafeRawBufferPointer) { bytes.append(contentsOf: part) }

    package mutating func append(_ part: [UInt8]) { bytes.append(contentsOf: part) }

    package mutating func append(_ part: String.UTF8View) { bytes.append(contentsOf: part) }

    package mutating func append(integer: UInt8) { bytes.append(integer) }

    package mutating func append(integer: UInt16) { append(bits: UInt64(integer), width: 16) }

    package mutating func append(integer: UInt32) { append(bits: UInt64(integer), width: 32) }

    package mutating func append(integer: UInt64) { append(bits: integer, width: 64) }

    package mutating func append(integer: Int64) { append(bits: UInt64(bitPattern: integer), width: 64) }

    private mutating func append(bits: UInt64, width: Int) {
        withUnsafeBytes(of: bits.littleEndian) {
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: $0.baseAddress, count: width / 8))
        }
    }

    package mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Appends one field to an encrypted part of an item's file: tag (the field's number), length, value.
    package mutating func append(field tag: UInt16, _ value: [UInt8]) {
        append(head: tag, length: value.count)
        append(value)
    }

    package mutating func append(field tag: UInt16, _ value: String.UTF8View) {
        append(head: tag, length: value.count)
        append(value)
    }

    package mutating func append(field tag: UInt16, _ value: UnsafeRawBufferPointer) {
        append(head: tag, length: value.count)
        append(value)
    }

    package mutating func append(field tag: UInt16, integer: UInt8) {
        append(head: tag, length: 1)
        append(integer: integer)
    }

    package mutating func append(field tag: UInt16, integer: UInt32) {
        append(head: tag, length: 4)
        append(integer: integer)
    }

    package mutating func append(field tag: UInt16, integer: UInt64) {
        append(head: tag, length: 8)
        append(integer: integer)
    }

    package mutating func append(field tag: UInt16, integer: Int64) {
        append(field: tag, integer: UInt64(bitPattern: integer))
    }

    private mutating func append(head tag: UInt16, length: Int) {
        append(integer: tag)
        append(integer: UInt32(length))
    }
}
