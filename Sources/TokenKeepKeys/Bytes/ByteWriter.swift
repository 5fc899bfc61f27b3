/// Assembles the bytes of a file or a box from fields.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    @inlinable @inline(__always)
    package mutating func append(_ part: some Sequence<UInt8>) {
        let isContiguous = part.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) } != nil
        if !isContiguous { Array(part).withUnsafeBytes { append($0) } }
    }

    package mutating func append(_ part: UnsafeRawBufferPointer) { bytes.append(contentsOf: part) }

    @inlinable @inline(__always)
    package mutating func append(integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.littleEndian) { append($0) }
    }

    package mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Appends a field of a state or metadata box: tag, length, value.
    @inlinable
    package mutating func append(field tag: UInt16, _ value: some Collection<UInt8>) {
        append(integer: tag)
        append(integer: UInt32(value.count))
        append(value)
    }

    @inlinable
    package mutating func append(field tag: UInt16, integer: some FixedWidthInteger) {
        append(integer: tag)
        append(integer: UInt32(MemoryLayout.size(ofValue: integer)))
        append(integer: integer)
    }
}
