/// Reads fields from untrusted bytes. Checks every length before using it.
package struct ByteReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    @inlinable package var remaining: Int { bytes.count - offset }

    /// The next `count` bytes. The result points into the reader's bytes and is valid as long as those are.
    @inlinable
    package mutating func take(_ count: Int, _ field: String) throws(FormatFault) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .malformed("it ends within the \(field)") }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    package mutating func array(_ count: Int, _ field: String) throws(FormatFault) -> [UInt8] {
        Array(try take(count, field))
    }

    @inlinable @inline(__always)
    package mutating func integer<Integer: FixedWidthInteger>(
        _ type: Integer.Type, _ field: String
    ) throws(FormatFault) -> Integer {
        let bytes = try take(MemoryLayout<Integer>.size, field)
        return Integer(littleEndian: bytes.loadUnaligned(as: Integer.self))
    }

    package mutating func zeros(_ count: Int, _ field: String) throws(FormatFault) {
        guard try take(count, field).allSatisfy({ $0 == 0 }) else { throw .malformed("reserved bytes are not zero") }
    }

    package mutating func text(_ count: Int, _ field: String) throws(FormatFault) -> String {
        guard let text = String(validating: try take(count, field), as: UTF8.self) else {
            throw .malformed("the \(field) is not UTF-8")
        }
        return text
    }

    /// Checks the eight letters at the start of a file, and the file's version.
    package mutating func signature(_ letters: String, version supported: UInt16) throws(FormatFault) {
        guard try take(8, "signature").elementsEqual(letters.utf8) else { throw .malformed("it has no signature") }
        let version = try integer(UInt16.self, "version")
        guard version >= 1 else { throw .malformed("its version is 0") }
        guard version == supported else { throw .newerVersion(version) }
    }

    package func end() throws(FormatFault) {
        guard remaining == 0 else { throw .malformed("\(remaining) bytes stand behind its end") }
    }
}
