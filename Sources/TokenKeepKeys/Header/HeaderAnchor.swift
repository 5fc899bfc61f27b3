/// A note of the header in force, stored outside the vault's files, in the TPM (docs/format.md, "The anchor").
struct HeaderAnchor: Equatable {
    /// Identifies one header: by its era, its epoch and the hash of its file.
    struct Mark: Equatable {
        let era: UInt64
        let epoch: UInt64
        let hash: [UInt8]

        init(_ header: Header, file: [UInt8]) {
            (era, epoch, hash) = (header.era, header.epoch, HeaderTrust.hash(of: file))
        }

        fileprivate init(_ reader: inout ByteReader) throws(FormatFault) {
            era = try reader.integer(UInt64.self, "era")
            epoch = try reader.integer(UInt64.self, "epoch")
            hash = try reader.array(32, "hash")
        }

        fileprivate func write(to writer: inout ByteWriter) {
            writer.append(integer: era)
            writer.append(integer: epoch)
            writer.append(hash)
        }
    }

    let vaultID: [UInt8]
    let present: Mark
    /// The header that is about to replace ``present``; nil if no change has begun.
    var next: Mark?

    static let length = 128
    private static let signature = "TKANCHOR"
    private static let markLength = 48

    /// Whether a header is ``present`` or ``next``.
    func accepts(_ mark: Mark) -> Bool { mark == present || mark == next }

    func serialized() -> [UInt8] {
        var writer = ByteWriter(capacity: HeaderAnchor.length)
        writer.append(HeaderAnchor.signature.utf8)
        writer.append(integer: UInt16(1))
        writer.zeros(6)
        writer.append(vaultID)
        present.write(to: &writer)
        if let next { next.write(to: &writer) } else { writer.zeros(HeaderAnchor.markLength) }
        return writer.bytes
    }

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> HeaderAnchor {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        try reader.zeros(6, "anchor")
        let vaultID = try reader.array(16, "vault id")
        let present = try Mark(&reader)
        let next = try Mark(&reader)
        try reader.end()
        guard present.era != 0, present.epoch != 0 else { throw .malformed("its era or epoch is 0") }
        return HeaderAnchor(vaultID: vaultID, present: present, next: next.era == 0 ? nil : next)
    }
}
