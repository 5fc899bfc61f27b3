import TokenKeepCore
import TokenKeepKeys

/// The encoding of the vault's note about an item sealed for other modules. Readable while the vault is locked.
enum SealedNoteFormat {
    private enum Tag {
        static let name: UInt16 = 1
        static let level: UInt16 = 2
        static let flags: UInt16 = 3
        static let holder: UInt16 = 4
    }
    private static let signature = "TKSEALED"
    private static let prefixLength = 48
    private static let maximumHolders = 64
    private static let maximumKeys = 16
    static let maximumFile = 65_536

    /// Encodes and encrypts a note about a sealed item.
    ///
    /// - Throws: if a reader would refuse the note.
    static func serialized(_ note: SealedNote, keys: KeyRing) throws(FormatFault) -> [UInt8] {
        guard isValid(note.level, note.flags), note.holders.count <= maximumHolders, note.holders.allSatisfy(isValid)
        else { throw .malformed("what is to be noted does not fit the format") }
        var fields = ByteWriter()
        fields.append(field: Tag.name, NameFormat.serialized(note.name))
        fields.append(field: Tag.level, integer: note.level.rawValue)
        fields.append(field: Tag.flags, integer: note.flags.rawValue)
        for holder in note.holders { fields.append(field: Tag.holder, serialized(holder)) }
        for field in note.kept { field.write(to: &fields) }
        guard prefixLength + fields.bytes.count + AuthenticatedBox.overhead <= maximumFile else {
            throw .malformed("what is to be noted is too long")
        }
        let prefix = prefix(of: keys.fileName(of: note.name), keys)
        let box = fields.bytes.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: keys.states, data: additionalData(prefix, keys))
        }
        return prefix + box
    }

    /// Decrypts and parses a note about a sealed item.
    ///
    /// - Parameter name: the 16 bytes that the name of the note's file stands for.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, name: [UInt8], keys: KeyRing
    ) throws(FormatFault) -> SealedNote {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        guard bytes.count <= maximumFile else { throw .malformed("it is too long") }
        guard bytes.prefix(prefixLength).elementsEqual(prefix(of: name, keys)) else {
            throw .malformed("it belongs to another item or another vault")
        }
        let box = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(prefixLength))
        let plaintext = try AuthenticatedBox.open(
            box, key: keys.states, data: additionalData(Array(bytes.prefix(prefixLength)), keys), "note")
        let note = try plaintext.lent { bytes throws(FormatFault) in try parseFields(bytes) }
        guard keys.fileName(of: note.name) == name else { throw .malformed("its fields name another item") }
        return note
    }

    private static func parseFields(
        _ bytes: UnsafeRawBufferPointer
    ) throws(FormatFault) -> SealedNote {
        var fields = FieldReader(bytes, repeating: Tag.holder)
        var name: ItemName?
        var level: AccessLevel?
        var flags: ItemFlags?
        var holders: [SealedNote.Holder] = []
        var kept: [UnknownField] = []
        while let (tag, value) = try fields.next() {
            var reader = ByteReader(value)
            switch tag {
            case Tag.name: name = try NameFormat.parse(&reader)
            case Tag.level: level = AccessLevel(rawValue: try reader.integer(UInt32.self, "level"))
            case Tag.flags: flags = ItemFlags(rawValue: try reader.integer(UInt32.self, "flags"))
            case Tag.holder: holders.append(try parseHolder(&reader))
            case FieldReader.firstOptional...:
                kept.append(try UnknownField(tag: tag, copying: value))
                continue
            default: throw .malformed("it has an unknown field \(tag)")
            }
            try reader.end()
        }
        guard let name, let level, let flags, isValid(level, flags), holders.count <= maximumHolders else {
            throw .malformed("a field is missing or unknown")
        }
        return SealedNote(name: name, level: level, flags: flags, holders: holders, kept: kept)
    }

    private static func isValid(_ level: AccessLevel, _ flags: ItemFlags) -> Bool {
        level != .memoryOnly && ItemFlags.known.isSuperset(of: flags)
    }

    private static func isValid(_ holder: SealedNote.Holder) -> Bool {
        ModuleName.isValid(holder.module) && holder.machine.count == PendingWriteFormat.machineLength
            && holder.keyIDs.count <= maximumKeys && holder.fingerprints.count <= SealedNote.maximumFingerprints
            && holder.fingerprints.allSatisfy { $0.count == PendingWriteFormat.fingerprintLength }
    }

    private static func parseHolder(_ reader: inout ByteReader) throws(FormatFault) -> SealedNote.Holder {
        let machine = try reader.array(PendingWriteFormat.machineLength, "machine id")
        let module = try PendingWriteFormat.parseModule(&reader)
        let count = Int(try reader.integer(UInt8.self, "number of keys"))
        guard count <= maximumKeys else { throw .malformed("a module has too many keys") }
        var keyIDs: [UInt64] = []
        for _ in 0..<count { keyIDs.append(try reader.integer(UInt64.self, "key id")) }
        let fingerprintCount = Int(try reader.integer(UInt8.self, "number of fingerprints"))
        guard fingerprintCount <= SealedNote.maximumFingerprints else {
            throw .malformed("a module has too many fingerprints")
        }
        var fingerprints: [[UInt8]] = []
        for _ in 0..<fingerprintCount {
            fingerprints.append(try reader.array(PendingWriteFormat.fingerprintLength, "fingerprint"))
        }
        return SealedNote.Holder(module: module, machine: machine, keyIDs: keyIDs, fingerprints: fingerprints)
    }

    private static func serialized(_ holder: SealedNote.Holder) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(holder.machine)
        writer.append(integer: UInt8(holder.module.utf8.count))
        writer.append(holder.module.utf8)
        writer.append(integer: UInt8(holder.keyIDs.count))
        for id in holder.keyIDs { writer.append(integer: id) }
        writer.append(integer: UInt8(holder.fingerprints.count))
        for fingerprint in holder.fingerprints { writer.append(fingerprint) }
        return writer.bytes
    }

    private static func prefix(of name: [UInt8], _ keys: KeyRing) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(signature.utf8)
        writer.append(integer: UInt16(1))
        writer.zeros(6)
        writer.append(keys.vaultID)
        writer.append(name)
        return writer.bytes
    }

    private static func additionalData(_ prefix: [UInt8], _ keys: KeyRing) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.append("TKsealed".utf8)
        writer.append(prefix)
        writer.append(integer: keys.era)
        return writer.bytes
    }
}
