import TokenKeepCore

/// What kind of thing a record seals. The numbers are those of the files.
enum RecordKind: UInt8 {
    /// An item of a vault.
    case value = 1
    /// A secret sealed for another module.
    case sealed = 2
    /// An item of an export.
    case export = 3
}

/// The clear part of a record: what a reader must know before it opens a box.
struct RecordPrefix: Equatable {
    static let length = 96
    static let maximumSmallBox = 65_536 + AuthenticatedBox.overhead
    static let maximumSecretBox = Limits.secret + AuthenticatedBox.overhead
    static let maximumFile = length + 2 * maximumSmallBox + maximumSecretBox
    private static let signature = "TKRECORD"

    var kind: RecordKind
    /// nil in a tombstone.
    var level: AccessLevel?
    var vaultID: [UInt8]
    var name: [UInt8]
    var flags: ItemFlags
    var nameKeyID: UInt64
    var metadataKeyID: UInt64
    var classKeyID: UInt64
    var stateLength: Int
    var metadataLength: Int
    var secretLength: Int

    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> RecordPrefix {
        try reader.signature(signature, version: 1)
        guard let kind = RecordKind(rawValue: try reader.integer(UInt8.self, "kind")) else {
            throw .malformed("its kind is unknown")
        }
        try reader.zeros(1, "prefix")
        let levelNumber = try reader.integer(UInt8.self, "level")
        guard levelNumber <= 5 else { throw .malformed("its level is unknown") }
        try reader.zeros(3, "prefix")
        let vaultID = try reader.array(16, "vault id")
        let name = try reader.array(16, "name")
        let flags = ItemFlags(rawValue: try reader.integer(UInt32.self, "flags"))
        guard ItemFlags.known.isSuperset(of: flags) else { throw .malformed("it has unknown flags") }
        try reader.zeros(4, "prefix")
        let nameKeyID = try reader.integer(UInt64.self, "name key id")
        let metadataKeyID = try reader.integer(UInt64.self, "metadata key id")
        let classKeyID = try reader.integer(UInt64.self, "class key id")
        let stateLength = try reader.integer(UInt32.self, "length of the state")
        let metadataLength = try reader.integer(UInt32.self, "length of the metadata")
        let secretLength = try reader.integer(UInt32.self, "length of the secret")
        try reader.zeros(4, "prefix")
        let prefix = RecordPrefix(
            kind: kind, level: AccessLevel(rawValue: UInt32(levelNumber)), vaultID: vaultID, name: name, flags: flags,
            nameKeyID: nameKeyID, metadataKeyID: metadataKeyID, classKeyID: classKeyID, stateLength: Int(stateLength),
            metadataLength: Int(metadataLength), secretLength: Int(secretLength))
        try prefix.checkLengths()
        return prefix
    }

    func checkLengths() throws(FormatFault) {
        let least = AuthenticatedBox.overhead
        guard kind != .sealed else {
            guard level != nil, stateLength == 0, metadataLength == 0, metadataKeyID == 0 else {
                throw .malformed("a sealed secret has a secret alone")
            }
            return try checkSecretLength()
        }
        guard (least...RecordPrefix.maximumSmallBox).contains(stateLength) else {
            throw .malformed("the length of its state is outside the limits")
        }
        if level == nil {
            guard metadataLength == 0, secretLength == 0, metadataKeyID == 0, classKeyID == 0, flags.isEmpty else {
                throw .malformed("it is a tombstone with a value")
            }
            return
        }
        guard (least...RecordPrefix.maximumSmallBox).contains(metadataLength) else {
            throw .malformed("the length of its metadata is outside the limits")
        }
        try checkSecretLength()
    }

    private func checkSecretLength() throws(FormatFault) {
        guard (AuthenticatedBox.overhead...RecordPrefix.maximumSecretBox).contains(secretLength) else {
            throw .malformed("the length of its secret is outside the limits")
        }
    }

    func serialized() -> [UInt8] {
        var writer = ByteWriter(capacity: RecordPrefix.length)
        writer.append(RecordPrefix.signature.utf8)
        writer.append(integer: UInt16(1))
        writer.append(integer: kind.rawValue)
        writer.zeros(1)
        writer.append(integer: UInt8(level?.rawValue ?? 0))
        writer.zeros(3)
        writer.append(vaultID)
        writer.append(name)
        writer.append(integer: flags.rawValue)
        writer.zeros(4)
        writer.append(integer: nameKeyID)
        writer.append(integer: metadataKeyID)
        writer.append(integer: classKeyID)
        writer.append(integer: UInt32(stateLength))
        writer.append(integer: UInt32(metadataLength))
        writer.append(integer: UInt32(secretLength))
        writer.zeros(4)
        return writer.bytes
    }

    // MARK: What binds the boxes to their place

    func metadataAdditionalData() -> [UInt8] {
        var writer = ByteWriter()
        writer.append("TKmetada".utf8)
        writer.append(serialized()[8..<52])
        writer.append(integer: metadataKeyID)
        return writer.bytes
    }

    func secretAdditionalData(metadataBox: some Collection<UInt8>) -> [UInt8] {
        var writer = ByteWriter(capacity: 64 + metadataBox.count)
        writer.append("TKsecret".utf8)
        writer.append(serialized()[8..<52])
        writer.append(integer: classKeyID)
        writer.append(metadataBox)
        return writer.bytes
    }

    func stateAdditionalData(boxes: UnsafeRawBufferPointer) -> [UInt8] {
        var writer = ByteWriter()
        writer.append("TKstate_".utf8)
        writer.append(serialized())
        writer.append(KeyedHash.digest(of: boxes, count: 32))
        return writer.bytes
    }
}
