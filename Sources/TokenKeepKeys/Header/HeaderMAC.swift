import CSodium
import TokenKeepCore

/// The two message authentication codes (MACs) at the end of a header file, which detect alterations.
///
/// - MAC A, under a key that the keyfile opens: without the keyfile, nobody can alter the header undetected.
/// - MAC B, under the header key, which only the password opens: without the password, nobody can alter a slot, a key,
///   a cost or the epoch undetected.
enum HeaderMAC {
    static let length = 32

    /// Checks MAC A of a header file, which needs the keyfile. Throws if the MAC is wrong.
    ///
    /// - Parameter key: the key for MAC A, which is derived from the name key.
    static func checkA(_ file: [UInt8], key: SecretBytes) throws(FormatFault) {
        let expected = digest(Array(file.dropLast(length * 2)), key)
        guard areEqual(Array(file.dropLast(length).suffix(length)), expected) else {
            throw .malformed("its MAC is wrong")
        }
    }

    /// Whether MAC B of a header file, which needs the header key, is right.
    ///
    /// - Parameter headerKey: the header key itself, from which the key for the MAC is derived.
    static func isRightB(_ file: [UInt8], headerKey: SecretBytes) throws(TokenKeepError) -> Bool {
        guard file.count > length * 2 else { return false }
        let expected = digest(Array(file.dropLast(length)), try Subkey.ofHeaderKey(headerKey))
        return areEqual(Array(file.suffix(length)), expected)
    }

    /// Encodes a header as the bytes of its file, with both authentication codes (MACs) at the end.
    static func file(of header: Header, nameMAC: SecretBytes, headerKey: SecretBytes) throws(TokenKeepError) -> [UInt8]
    {
        try file(of: header.serializedWithoutMACs(), nameMAC: nameMAC, headerKey: headerKey)
    }

    /// Adds both authentication codes (MACs) to the bytes of a header.
    static func file(of body: [UInt8], nameMAC: SecretBytes, headerKey: SecretBytes) throws(TokenKeepError) -> [UInt8] {
        let withA = body + digest(body, nameMAC)
        return withA + digest(withA, try Subkey.ofHeaderKey(headerKey))
    }

    private static func digest(_ bytes: [UInt8], _ key: SecretBytes) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            key.withUnsafeBytes { KeyedHash.digest(of: bytes, key: $0, count: length) }
        }
    }

    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
