import TokenKeepCore
import TokenKeepKeys

/// An unreadable file of the vault, encrypted as a whole when all keys of the vault are replaced.
///
/// No key of the vault opens the file, so its content cannot be re-encrypted under the new keys. See docs/format.md,
/// "Carried over".
struct CarriedFile {
    /// The item's name; nil if the name could not be read.
    let name: ItemName?
    let bytes: [UInt8]

    /// The maximum length of an unreadable file that can be encrypted as a whole, in bytes. Leaves room for the item's
    /// name.
    static let maximumLength = RecordPrefix.maximumCarriedBox - AuthenticatedBox.overhead - 1024

    /// Prepares an unreadable file for encryption as a whole.
    ///
    /// If an earlier replacement of the vault's keys encrypted the file as a whole, the result has the decrypted file
    /// and item name instead, so that a file is never encrypted twice.
    ///
    /// - Parameter fileName: the 16 bytes that the file's name encodes; nil if the file is not named like a record.
    init(_ bytes: [UInt8], of name: ItemName?, fileName: [UInt8]?, keys: KeyRing) {
        guard let earlier = try? CarriedFile(sealed: bytes, fileName, keys: keys) else {
            (self.name, self.bytes) = (name, bytes)
            return
        }
        self = earlier
    }

    private init(sealed file: [UInt8], _ fileName: [UInt8]?, keys: KeyRing) throws(FormatFault) {
        let (prefix, box) = try file.lent { bytes throws(FormatFault) -> (RecordPrefix, [UInt8]) in
            var reader = ByteReader(bytes)
            let prefix = try RecordPrefix.parse(&reader, allowing: .carriedOver)
            let box = try reader.array(prefix.secretLength, "box")
            try reader.end()
            return (prefix, box)
        }
        guard prefix.kind == .carriedOver, prefix.level == .afterFirstUnlock, prefix.flags.isEmpty,
            prefix.vaultID == keys.vaultID, prefix.era == keys.era, prefix.name == fileName ?? prefix.name
        else { throw .malformed("it was not carried over") }
        let key = try keys.key(prefix.classKeyID, for: .level(.afterFirstUnlock))
        let plaintext = try box.lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: key, data: prefix.secretAdditionalData(metadataBox: []), "box")
        }
        (name, bytes) = try plaintext.withUnsafeBytes { bytes throws(FormatFault) -> (ItemName?, [UInt8]) in
            var reader = ByteReader(bytes)
            let length = Int(try reader.integer(UInt32.self, "length of the name"))
            let parts = try reader.take(length, "name")
            var nameReader = ByteReader(parts)
            let name = length == 0 ? nil : try NameFormat.parse(&nameReader)
            try nameReader.end()
            return (name, try reader.array(reader.remaining, "file"))
        }
    }

    /// Encrypts the whole file under the current keys of `keys`.
    ///
    /// - Parameter fileName: the file name of the new record, as 16 bytes.
    func sealed(as fileName: [UInt8], keys: KeyRing) throws(FormatFault) -> [UInt8] {
        let classKey = try keys.currentKey(for: .level(.afterFirstUnlock))
        let parts = name.map(NameFormat.serialized) ?? []
        var plaintext = ByteWriter(capacity: bytes.count + parts.count + 4)
        plaintext.append(integer: UInt32(parts.count))
        plaintext.append(parts)
        plaintext.append(bytes)
        let prefix = RecordPrefix(
            kind: .carriedOver, level: .afterFirstUnlock, vaultID: keys.vaultID, name: fileName, flags: [],
            era: keys.era, metadataKeyID: 0, classKeyID: classKey.id, stateLength: 0, metadataLength: 0,
            secretLength: plaintext.bytes.count + AuthenticatedBox.overhead)
        let box = plaintext.bytes.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: classKey.bytes, data: prefix.secretAdditionalData(metadataBox: []))
        }
        return prefix.serialized() + box
    }
}
