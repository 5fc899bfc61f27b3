import TokenKeepCore

/// The file `keyfile`: the random key that opens the keyfile slot and the name key.
struct Keyfile {
    static let length = 96
    private static let signature = "TKKEYFIL"

    let vaultID: [UInt8]
    let key: SecretBytes

    /// Reads the file's bytes.
    static func parse(_ bytes: UnsafeRawBufferPointer, in arena: SecretArena) throws(FormatFault) -> Keyfile {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        try reader.zeros(6, "reserved bytes")
        let vaultID = try reader.array(16, "vault id")
        let key = try reader.take(32, "key")
        let checksum = try reader.take(32, "checksum")
        try reader.end()
        let expected = KeyedHash.digest(of: UnsafeRawBufferPointer(rebasing: bytes.prefix(64)), count: 32)
        guard checksum.elementsEqual(expected) else { throw .malformed("its checksum is wrong") }
        do throws(TokenKeepError) {
            return Keyfile(vaultID: vaultID, key: try SecretBytes(copying: key, in: arena))
        } catch {
            throw .resources(error)
        }
    }

    /// The file's bytes, in guarded memory.
    func serialized(in arena: SecretArena) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: Keyfile.length, in: arena) { file in
            var head = ByteWriter()
            head.append(Keyfile.signature.utf8)
            head.append(integer: UInt16(1))
            head.zeros(6)
            head.append(vaultID)
            file.copyBytes(from: head.bytes)
            key.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: file[32..<64]).copyMemory(from: $0) }
            let checksum = KeyedHash.digest(of: UnsafeRawBufferPointer(rebasing: file.prefix(64)), count: 32)
            UnsafeMutableRawBufferPointer(rebasing: file[64...]).copyBytes(from: checksum)
        }
    }
}
