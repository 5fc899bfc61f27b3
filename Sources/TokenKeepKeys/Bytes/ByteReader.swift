import TokenKeepCore

/// Reads fields from untrusted bytes. Checks every length before using it.
///
/// A load of an item reads about fifty fields. For speed, functions that other files call are therefore not generic,
/// and the names of fields are string literals, which need no reference counting.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var remaining: Int { bytes.count - offset }

    /// Reads the next `count` bytes. The result points into the reader's buffer and must not outlive it.
    package mutating func take(_ count: Int, _ field: StaticString) throws(FormatFault) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .malformed("it ends within the \(field)") }
        defer { offset += count }
        return UnsafeRawBufferPointer(start: bytes.baseAddress.map { $0 + offset }, count: count)
    }

    package mutating func array(_ count: Int, _ field: StaticString) throws(FormatFault) -> [UInt8] {
        Array(try take(count, field))
    }

    package mutating func integer(_: UInt8.Type, _ field: StaticString) throws(FormatFault) -> UInt8 {
        try next(field)
    }

    package mutating func integer(_: UInt16.Type, _ field: StaticString) throws(FormatFault) -> UInt16 {
        try next(field)
    }

    package mutating func integer(_: UInt32.Type, _ field: StaticString) throws(FormatFault) -> UInt32 {
        try next(field)
    }

    package mutating func integer(_: UInt64.Type, _ field: StaticString) throws(FormatFault) -> UInt64 {
        try next(field)
    }

    package mutating func integer(_: Int64.Type, _ field: StaticString) throws(FormatFault) -> Int64 {
        try next(field)
    }

    /// Reads the next integer, little-endian.
    private mutating func next<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ field: StaticString
    ) throws(FormatFault) -> Integer {
        let bytes = try take(MemoryLayout<Integer>.size, field)
        return Integer(littleEndian: bytes.loadUnaligned(as: Integer.self))
    }

    package mutating func zeros(_ count: Int, _ field: StaticString) throws(FormatFault) {
        guard try take(count, field).allSatisfy({ $0 == 0 }) else { throw .malformed("reserved bytes are not zero") }
    }

    package mutating func text(_ count: Int, _ field: StaticString) throws(FormatFault) -> String {
        guard let text = String(checking: try take(count, field)) else {
            throw .malformed("the \(field) is not UTF-8")
        }
        return text
    }

    /// Checks a file's signature (its first eight letters) and its format version.
    package mutating func signature(_ letters: String, version supported: UInt16) throws(FormatFault) {
        guard letters.hasBytes(try take(8, "signature").bindMemory(to: UInt8.self)) else {
            throw .malformed("it has no signature")
        }
        let version = try integer(UInt16.self, "version")
        guard version >= 1 else { throw .malformed("its version is 0") }
        guard version == supported else { throw .newerVersion(version) }
    }

    package func end() throws(FormatFault) {
        guard remaining == 0 else { throw .malformed("\(remaining) bytes stand behind its end") }
    }
}
