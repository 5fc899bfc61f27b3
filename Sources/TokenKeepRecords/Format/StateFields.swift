import TokenKeepCore
import TokenKeepKeys

/// The fields of a record's state, an encrypted part that stays readable while the vault is locked.
struct StateFields: Equatable {
    private enum Tag {
        static let changedAt: UInt16 = 2
        static let pendingWrite: UInt16 = 3
        static let name: UInt16 = 4
        static let sealedProtection: UInt16 = 5
        static let sealedHolder: UInt16 = 6
        static let writesMAC: UInt16 = 7
        static let pendingRefresh: UInt16 = 16
        static let outbox: UInt16 = 17
    }
    fileprivate static let maximumPending = 64
    private static let maximumPendingRefresh = 32_768

    var changedAt: UnixTime
    var pending: [PendingWrite] = []
    /// The MAC of the pending writes. See ``WritesMAC``.
    var writesMAC: [UInt8]?
    /// The result of the check of ``writesMAC``.
    var writes = WritesMAC.Result.right
    /// The name of the item, or of a service to be removed; nil in a record that has a value and no sealed copies.
    ///
    /// The name is needed to remove the item from modules, and for sealed items while the metadata is locked.
    var name: ItemName?
    /// The copies of the item that the vault sealed (encrypted) for modules; nil if there are none.
    var sealed: SealedCopies?
    /// Fields that are preserved unchanged: those of a session (tags 16 and 17) and optional fields of unknown meaning.
    ///
    /// A session is a signed-in account.
    var kept: [UnknownField] = []

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> StateFields {
        var fields = FieldReader(bytes, repeating: Tag.pendingWrite, Tag.sealedHolder)
        var changedAt: UnixTime?
        var pending: [PendingWrite] = []
        var writesMAC: [UInt8]?
        var name: ItemName?
        var sealed: SealedCopies?
        var kept: [UnknownField] = []
        while let (tag, value) = try fields.next() {
            var reader = ByteReader(value)
            switch tag {
            case Tag.name:
                name = try NameFormat.parse(&reader, mayRemoveService: true)
                try reader.end()
            case Tag.changedAt:
                changedAt = UnixTime(try reader.integer(Int64.self, "date of change"))
                try reader.end()
            case Tag.pendingWrite:
                pending.append(try PendingWriteFormat.parse(value))
            case Tag.sealedProtection:
                sealed = try SealedCopiesFormat.parse(&reader)
                try reader.end()
            case Tag.sealedHolder where sealed != nil:
                sealed?.holders.append(try SealedCopiesFormat.parseHolder(&reader))
                try reader.end()
            case Tag.writesMAC:
                writesMAC = try reader.array(WritesMAC.length, "MAC of pending writes")
                try reader.end()
            case Tag.pendingRefresh where value.count <= maximumPendingRefresh, Tag.outbox where value.count == 4,
                FieldReader.firstOptional...:
                kept.append(try UnknownField(tag: tag, copying: value))
            default: throw .malformed("it has an unknown field \(tag)")
            }
        }
        guard let changedAt else { throw .malformed("the date of its change is missing") }
        guard pending.count <= maximumPending else { throw .malformed("it has too many pending changes") }
        if let sealed { try SealedCopiesFormat.check(sealed, of: name) }
        return StateFields(
            changedAt: changedAt, pending: pending, writesMAC: writesMAC, name: name, sealed: sealed, kept: kept)
    }

    /// Encodes the fields. The caller must wipe the result.
    ///
    /// The buffer gets its full capacity at once. It is therefore never reallocated, which would leave an unwiped copy
    /// of the bytes in memory.
    func serialized() -> [UInt8] {
        let holders = (sealed?.holders ?? []).map(SealedCopiesFormat.serialized)
        let pendingLength = pending.reduce(0) { $0 + PendingWriteFormat.maximumLength(of: $1) + 6 }
        let holdersLength = holders.reduce(0) { $0 + $1.count + 6 }
        var writer = ByteWriter(
            capacity: 656 + WritesMAC.length + 6 + pendingLength + holdersLength
                + kept.reduce(0) { $0 + $1.value.count + 6 })
        writer.append(field: Tag.changedAt, integer: changedAt.rawValue)
        for part in pending { writer.append(field: Tag.pendingWrite, PendingWriteFormat.serialized(part)) }
        if let name { writer.append(field: Tag.name, NameFormat.serialized(name)) }
        if let sealed { writer.append(field: Tag.sealedProtection, SealedCopiesFormat.serialized(sealed)) }
        for holder in holders { writer.append(field: Tag.sealedHolder, holder) }
        if let writesMAC { writer.append(field: Tag.writesMAC, writesMAC) }
        for field in kept { field.write(to: &writer) }
        return writer.bytes
    }

    /// Throws if a reader would reject a record with these fields.
    func check() throws(FormatFault) {
        guard pending.count <= StateFields.maximumPending, pending.allSatisfy(PendingWriteFormat.isValid) else {
            throw .malformed("its pending do not fit the format")
        }
        if let sealed { try SealedCopiesFormat.check(sealed, of: name) }
    }
}
