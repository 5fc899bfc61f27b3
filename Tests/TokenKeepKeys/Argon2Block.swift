import CSodium

/// What Argon2id keeps in its first block, computed anew (RFC 9106, sections 3.2 and 3.3).
enum Argon2Block {
    /// The first 64 bytes of the first block, as they stand during the first pass.
    static func first(password: [UInt8], salt: [UInt8], passes: UInt32, memoryKiB: UInt32) -> [UInt8] {
        var input: [UInt8] = []
        let version: UInt32 = 0x13
        let argon2id: UInt32 = 2
        for number in [1, 64, memoryKiB, passes, version, argon2id] { append(number, to: &input) }
        append(UInt32(password.count), to: &input)
        input += password
        append(UInt32(salt.count), to: &input)
        input += salt
        append(0, to: &input)  // no secret
        append(0, to: &input)  // no associated data
        var first: [UInt8] = []
        append(1024, to: &first)
        first += blake2b(input)
        append(0, to: &first)  // block 0
        append(0, to: &first)  // of lane 0
        // The first half of the hash is the block's beginning; the whole is hashed on.
        let beginning = blake2b(first)
        return Array(beginning[..<32]) + blake2b(beginning)[..<32]
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    private static func blake2b(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 64)
        _ = crypto_generichash(&digest, 64, bytes, UInt64(bytes.count), nil, 0)
        return digest
    }
}
