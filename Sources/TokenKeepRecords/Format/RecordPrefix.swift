import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The kind of content in a file or secret with the format of a record. The raw value is the number in the file.
enum RecordKind: UInt8 {
    /// An item in the vault.
    case value = 1
    /// A secret that the vault sealed (encrypted) for another module.
    case sealed = 2
    /// An item in an export file.
    case export = 3
    /// An unreadable file, encrypted as a whole when the vault's keys were replaced.
    case carriedOver = 4
}

/// The unencrypted first part of a record. Contains the ids of the keys that open the encrypted parts.
package struct RecordPrefix: Equatable {
    static let length = 96
    static let maximumSmallBox = 65_536 + AuthenticatedBox.overhead
    static let maximumSecretBox = Limits.secret + AuthenticatedBox.overhead
    /// The maximum length of the encrypted part of an unreadable file that was encrypted as a whole, in bytes.
    ///
    /// The encrypted part also contains the item's name.
    static let maximumCarriedBox = 2 * (1 << 20) + AuthenticatedBox.overhead
    static let maximumFile = length + 2 * maximumSmallBox + maximumSecretBox
    private static let signature = "TKRECORD"

    var kind: RecordKind
    /// The item's level; nil in a tombstone, which only says that the item was cleared.
    package var level: AccessLevel?
    var vaultID: [UInt8]
    package var name: [UInt8]
    package var flags: ItemFlags
    var era: UInt64
    var metadataKeyID: UInt64
    var classKeyID: UInt64
    var stateLength: Int
    var metadataLength: Int
    var secretLength: Int

    static func parse(
        _ reader: inout ByteReader, allowing kind: RecordKind? = nil
    ) throws(FormatFault) -> RecordPrefix {
        let allowed = kind
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
        let era = try reader.integer(UInt64.self, "era")
        let metadataKeyID = try reader.integer(UInt64.self, "metadata key id")
        let classKeyID = try reader.integer(UInt64.self, "class key id")
        let stateLength = try reader.integer(UInt32.self, "length of the state")
        let metadataLength = try reader.integer(UInt32.self, "length of the metadata")
        let secretLength = try reader.integer(UInt32.self, "length of the secret")
        try reader.zeros(4, "prefix")
        let prefix = RecordPrefix(
            kind: kind, level: AccessLevel(rawValue: UInt32(levelNumber)), vaultID: vaultID, name: name, flags: flags,
            era: era, metadataKeyID: metadataKeyID, classKeyID: classKeyID, stateLength: Int(stateLength),
            metadataLength: Int(metadataLength), secretLength: Int(secretLength))
        guard kind != .carriedOver || allowed == .carriedOver else {
            throw .malformed("no key opened it when the vault's keys were replaced")
        }
        try prefix.checkLengths()
        return prefix
    }

    /// Whether these bytes begin with the prefix of a record that belongs to an item.
    static func begins(_ bytes: [UInt8]) -> Bool {
        (try? bytes.lent { bytes throws(FormatFault) in
            var reader = ByteReader(bytes)
            return try parse(&reader).kind == .value
        }) ?? false
    }

    func checkLengths() throws(FormatFault) {
        let least = AuthenticatedBox.overhead
        guard kind != .sealed else {
            guard level != nil, stateLength == 0, metadataLength == 0, metadataKeyID == 0 else {
                throw .malformed("a sealed secret has a secret alone")
            }
            return try checkSecretLength()
        }
        guard kind != .carriedOver else {
            guard stateLength == 0, metadataLength == 0, metadataKeyID == 0, secretLength >= least,
                secretLength <= RecordPrefix.maximumCarriedBox
            else { throw .malformed("a file that was carried over has a box alone") }
            return
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
        guard metadataKeyID != 0, classKeyID != 0 else { throw .malformed("it is a value that names no key") }
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
        writer.append(integer: era)
        writer.append(integer: metadataKeyID)
        writer.append(integer: classKeyID)
        writer.append(integer: UInt32(stateLength))
        writer.append(integer: UInt32(metadataLength))
        writer.append(integer: UInt32(secretLength))
        writer.zeros(4)
        return writer.bytes
    }

    // MARK: Binding the encrypted parts to their record

    func metadataAdditionalData() -> [UInt8] {
        serialized().withUnsafeBytes { RecordPrefix.metadataAdditionalData(of: $0) }
    }

    func secretAdditionalData(metadataBox: [UInt8]) -> [UInt8] {
        serialized().withUnsafeBytes { prefix in
            metadataBox.withUnsafeBytes { RecordPrefix.secretAdditionalData(of: prefix, metadataBox: $0) }
        }
    }

    func stateAdditionalData(boxes: UnsafeRawBufferPointer) -> [UInt8] {
        serialized().withUnsafeBytes { RecordPrefix.stateAdditionalData(of: $0, boxes: boxes) }
    }
}

// These functions read the prefix from the bytes of the record's file, so that a reader need not encode the prefix
// again to authenticate it.
extension RecordPrefix {
    private static let bound = 8..<52
    private static let eraField = 56..<64
    private static let metadataKeyField = 64..<72

    /// The bytes of the prefix that bind the kind, level, vault, name and flags.
    static func boundBytes(of file: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: file[bound])
    }
    private static let classKeyField = 72..<80

    /// - Parameter file: the bytes of a record file, which begin with the prefix.
    static func metadataAdditionalData(of file: UnsafeRawBufferPointer) -> [UInt8] {
        additionalData("TKmetada", of: file, [bound, eraField, metadataKeyField])
    }

    static func secretAdditionalData(
        of file: UnsafeRawBufferPointer, metadataBox: UnsafeRawBufferPointer
    ) -> [UInt8] {
        additionalData("TKsecret", of: file, [bound, eraField, classKeyField], metadataBox)
    }

    static func stateAdditionalData(of file: UnsafeRawBufferPointer, boxes: UnsafeRawBufferPointer) -> [UInt8] {
        KeyedHash.digest(of: boxes, count: 32).withUnsafeBytes {
            additionalData("TKstate_", of: file, [0..<length], $0)
        }
    }

    private static func additionalData(
        _ label: String, of file: UnsafeRawBufferPointer, _ fields: [Range<Int>],
        _ rest: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 136 + rest.count)
        writer.append(label.utf8)
        for field in fields { writer.append(UnsafeRawBufferPointer(rebasing: file[field])) }
        writer.append(rest)
        return writer.bytes
    }
}

extension RecordPrefix {
    /// Reads the prefix of a record file; nil if the file is missing or has no valid prefix.
    static func read(_ name: [UInt8], in records: OwnedDescriptor) throws(TokenKeepError) -> RecordPrefix? {
        do throws(Errno) {
            guard
                let file = try SystemCall.open(Hexadecimal.text(name), in: records.number, O_RDONLY | O_NONBLOCK),
                try SystemCall.status(of: file).isRegularFile
            else { return nil }
            let bytes = try SystemCall.bytes(of: file, atMost: length)
            return try? bytes.lent { bytes throws(FormatFault) in
                var reader = ByteReader(bytes)
                return try parse(&reader)
            }
        } catch {
            guard error == .tooManySymbolicLinkLevels else { throw error.error("cannot read a record") }
            return nil
        }
    }
}
