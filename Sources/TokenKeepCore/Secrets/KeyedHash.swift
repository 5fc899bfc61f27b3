import CSodium

/// Computes keyed BLAKE2b hashes (RFC 7693) with libsodium.
public enum KeyedHash {
    /// Computes the hash of `bytes`.
    ///
    /// - Parameters:
    ///   - key: 16 to 64 bytes, or empty for a hash without a key.
    ///   - count: the length of the hash in bytes, 16 to 64.
    public static func digest(
        of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer = .init(start: nil, count: 0), count: Int
    ) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: count)
        _ = crypto_generichash(
            &digest, count, bytes.bindMemory(to: UInt8.self).baseAddress, UInt64(bytes.count),
            key.bindMemory(to: UInt8.self).baseAddress, key.count)
        return digest
    }
}

/// A sequence of byte strings, each preceded by its length. Different sequences always give different bytes.
public struct LengthPrefixedBytes: Sendable {
    /// The bytes of the whole sequence: each part, preceded by its length.
    public private(set) var bytes: [UInt8] = []

    /// Makes a sequence without parts.
    public init() { bytes.reserveCapacity(512) }

    /// Appends a part: its length (32 bits, little-endian), then its bytes.
    public mutating func append(_ part: String.UTF8View) {
        append(length: part.count)
        bytes.append(contentsOf: part)
    }

    /// Appends a part: its length (32 bits, little-endian), then its bytes.
    public mutating func append(_ part: [UInt8]) {
        append(length: part.count)
        bytes.append(contentsOf: part)
    }

    private mutating func append(length: Int) {
        withUnsafeBytes(of: UInt32(clamping: length).littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends an integer as a separate part, little-endian.
    public mutating func append(integer: UInt32) {
        append(length: 4)
        withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends an integer as a separate part, little-endian.
    public mutating func append(integer: Int64) {
        append(length: 8)
        withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
