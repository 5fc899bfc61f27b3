import TokenKeepCore

/// The head (first bytes) of an export file: the derivation of the file's key, and check bytes (a commitment).
///
/// The check bytes show whether a passphrase is right before anything is decrypted.
struct ExportHead {
    static let length = 88
    private static let signature = "TKEXPORT"

    let derivation: KeyDerivation
    let commitment: [UInt8]
    /// The bytes of the export file's head, as they are in the file.
    let bytes: [UInt8]

    init(_ derivation: KeyDerivation, commitment: [UInt8]) {
        var writer = ByteWriter(capacity: ExportHead.length)
        writer.append(ExportHead.signature.utf8)
        writer.append(integer: UInt16(1))
        writer.zeros(6)
        derivation.write(to: &writer)
        writer.zeros(4)
        writer.append(integer: UnixTime.now.rawValue)
        writer.append(commitment)
        self.derivation = derivation
        self.commitment = commitment
        bytes = writer.bytes
    }

    /// Parses the head (first bytes) of an export file, and checks the limits of the costs of its key derivation.
    init(parsing bytes: UnsafeRawBufferPointer) throws(FormatFault) {
        var reader = ByteReader(bytes)
        try reader.signature(ExportHead.signature, version: 1)
        try reader.zeros(6, "head")
        derivation = try KeyDerivation.parse(&reader)
        guard case .argon2id = derivation else { throw .malformed("it is sealed without a password") }
        try reader.zeros(4, "head")
        _ = try reader.integer(Int64.self, "date")
        commitment = try reader.array(DerivedKey.commitmentLength, "commitment")
        try reader.end()
        self.bytes = Array(bytes)
    }
}
