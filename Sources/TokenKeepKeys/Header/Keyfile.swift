import TokenKeepCore

/// The file `keyfile`, whose random key opens the name key and the journal key.
///
/// In a vault without a password, the keyfile opens all keys.
package struct Keyfile {
    package static let name = "keyfile"
    static let length = 112
    private static let signature = "TKKEYFIL"
    private static let keyOffset = 48
    private static let checksumOffset = 80

    let vaultID: [UInt8]
    let era: UInt64
    private let key: SecretBytes

    /// Makes a keyfile with a new random key for the directory `era-N`, where N is `era`.
    static func make(vaultID: [UInt8], era: UInt64) throws(TokenKeepError) -> Keyfile {
        Keyfile(vaultID: vaultID, era: era, key: try SecretBytes(randomCount: KeyRing.keyLength))
    }

    /// Parses the bytes of a keyfile.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> Keyfile {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        try reader.zeros(6, "reserved bytes")
        let vaultID = try reader.array(16, "vault id")
        let era = try reader.integer(UInt64.self, "era")
        try reader.zeros(8, "reserved bytes")
        let key = try reader.take(32, "key")
        let checksum = try reader.take(32, "checksum")
        try reader.end()
        let covered = UnsafeRawBufferPointer(rebasing: bytes.prefix(checksumOffset))
        guard checksum.elementsEqual(KeyedHash.digest(of: covered, count: 32)) else {
            throw .malformed("its checksum is wrong")
        }
        return try FormatFault.needing { () throws(TokenKeepError) in
            Keyfile(vaultID: vaultID, era: era, key: try SecretBytes(copying: key))
        }
    }

    /// Encodes the bytes of a keyfile.
    func serialized() throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: Keyfile.length) { file in
            var head = ByteWriter()
            head.append(Keyfile.signature.utf8)
            head.append(integer: UInt16(1))
            head.zeros(6)
            head.append(vaultID)
            head.append(integer: era)
            head.zeros(8)
            file.copyBytes(from: head.bytes)
            key.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: file[Keyfile.keyOffset..<Keyfile.checksumOffset])
                    .copyMemory(from: $0)
            }
            let covered = UnsafeRawBufferPointer(rebasing: file.prefix(Keyfile.checksumOffset))
            let checksum = KeyedHash.digest(of: covered, count: 32)
            UnsafeMutableRawBufferPointer(rebasing: file[Keyfile.checksumOffset...]).copyBytes(from: checksum)
        }
    }

    /// The key and the check bytes (commitment) of the header's slot for the keyfile.
    ///
    /// The key encrypts the vault's keys in that slot, the name key and the journal key.
    func derived() throws(TokenKeepError) -> DerivedKey {
        let commitment = try Subkey.derive(from: key, number: 2, context: "TKkeyfil")
        return DerivedKey(
            wrapping: try Subkey.derive(from: key, number: 1, context: "TKkeyfil"),
            commitment: commitment.withUnsafeBytes { Array($0) })
    }
}
