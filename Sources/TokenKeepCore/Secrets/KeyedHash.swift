import CSodium

/// BLAKE2b with a key (RFC 7693), by libsodium.
public enum KeyedHash {
    /// The digest of `bytes`.
    ///
    /// - Parameters:
    ///   - key: 16 to 64 bytes, or empty for a hash without a key.
    ///   - count: the digest's length, 16 to 64.
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

/// Length-prefixed parts in a row: different lists of parts never give the same bytes.
public struct LengthPrefixedBytes: Sendable {
    /// The bytes of all parts.
    public private(set) var bytes: [UInt8] = []

    /// No parts.
    public init() { bytes.reserveCapacity(512) }

    /// Appends a part: its length (32 bits, little-endian), then its bytes.
    public mutating func append(_ part: some Collection<UInt8>) {
        withUnsafeBytes(of: UInt32(clamping: part.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: part)
    }

    /// Appends an integer as a part of its own, little-endian.
    public mutating func append(integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.littleEndian) { append(Array($0)) }
    }
}
