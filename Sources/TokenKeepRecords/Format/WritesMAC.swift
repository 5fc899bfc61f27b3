import CSodium
import TokenKeepCore
import TokenKeepKeys

/// The MAC of a record's pending writes (docs/format.md, "State"). A pending write sends the item's secret to a module.
///
/// The MAC's key is derived from the metadata key. A person with only the keyfile therefore cannot add a pending write
/// to a record, or combine an old pending write with a later value.
enum WritesMAC {
    static let length = 32

    /// The result of the check of a record's pending writes.
    enum Result {
        /// The vault made the writes, or there are none.
        case right
        /// The metadata key is locked, so the writes cannot be checked.
        case unknown
        /// The vault did not make the writes. Forged writes are ignored.
        case forged
    }

    /// The error for a record with forged writes.
    static func forgery(in file: String) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "\(file) has a pending write that the vault did not make: it is passed over", module: "vault",
            hint: "somebody who has the vault's files altered it; save the item anew, or clear it")
    }

    /// Computes the MAC of the pending writes; nil if there are none.
    ///
    /// - Parameters:
    ///   - prefix: the record's prefix; more bytes of the file may follow.
    ///   - boxes: the record's encrypted metadata and secret.
    static func of(
        _ pending: [PendingWrite], prefix: UnsafeRawBufferPointer, boxes: UnsafeRawBufferPointer,
        metadataKey: SecretBytes
    ) throws(FormatFault) -> [UInt8]? {
        let writes = pending.filter { $0.kind == .write }.map(PendingWriteFormat.serialized)
        guard !writes.isEmpty else { return nil }
        var writer = ByteWriter(capacity: 100 + writes.reduce(0) { $0 + $1.count + 4 })
        writer.append("TKwrites".utf8)
        writer.append(RecordPrefix.boundBytes(of: prefix))
        writer.append(KeyedHash.digest(of: boxes, count: 32))
        for write in writes {
            writer.append(integer: UInt32(write.count))
            writer.append(write)
        }
        let key = try FormatFault.needing { () throws(TokenKeepError) in try Subkey.ofMetadataKey(metadataKey) }
        return writer.bytes.withUnsafeBytes { bytes in
            key.withUnsafeBytes { KeyedHash.digest(of: bytes, key: $0, count: length) }
        }
    }
}

extension RecordFile {
    /// A copy of a state without the pending writes that the vault did not make.
    func checkWrites(of state: StateFields) throws(FormatFault) -> StateFields {
        guard state.pending.contains(where: { $0.kind == .write }) else { return state }
        var checked = state
        if holdsValue {
            let key: SecretBytes
            do throws(FormatFault) {
                key = try keys.key(prefix.metadataKeyID, for: .metadata)
            } catch {
                if case .resources = error { throw error }
                checked.writes = .unknown
                return checked
            }
            let expected = try bytes.lent { file throws(FormatFault) in
                try WritesMAC.of(
                    state.pending, prefix: file, boxes: UnsafeRawBufferPointer(rebasing: file[boxesRange]),
                    metadataKey: key)
            }
            if let mac = state.writesMAC, let expected, sodium_memcmp(mac, expected, WritesMAC.length) == 0 {
                return state
            }
        }
        checked.pending.removeAll { $0.kind == .write }
        checked.writesMAC = nil
        checked.writes = .forged
        return checked
    }
}
