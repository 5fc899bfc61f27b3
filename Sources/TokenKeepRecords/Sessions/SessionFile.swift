package import TokenKeepCore
import TokenKeepKeys

/// A file about a session (a signed-in account): the session's state, and its service and account.
///
/// The state is readable while the vault is locked. The file is in the directory `sessions`. See docs/format.md,
/// "Sessions".
package struct SessionFile: Sendable {
    /// The kind of a session's file. The kind is authenticated, so a file of one kind cannot replace a file of the
    /// other.
    package enum Kind: UInt8, Sendable {
        /// The state of one session (a signed-in account).
        case note = 1
        /// The name of a service's active account.
        case active = 2
    }

    /// The maximum length of a session's state, in bytes.
    package static let maximumState = 4096
    private static let signature = "TKSESSON"
    private static let headLength = 56
    private static let prefixLength = headLength + 8
    static let maximumFile = 8192

    package let kind: Kind
    /// The encoded fields of the session's state. The target TokenKeepSession defines their meaning.
    package var state: [UInt8]
    /// The session's service and account; nil if the metadata key is locked, or was locked when the file was made.
    package var name: ItemName?
    /// The encrypted names as read from the file. While the metadata key is locked, the same bytes are written again.
    private var namesBox: [UInt8] = []
    /// Whether the file contains names, readable or locked.
    var hasNames: Bool { !namesBox.isEmpty }

    package init(kind: Kind, state: [UInt8], name: ItemName) {
        self.kind = kind
        self.state = state
        self.name = name
    }

    private init(kind: Kind, state: [UInt8], name: ItemName?, namesBox: [UInt8]) {
        self.kind = kind
        self.state = state
        self.name = name
        self.namesBox = namesBox
    }

    /// Decrypts and parses a session's file.
    ///
    /// - Parameter fileName: the 16 bytes that the file's name encodes.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, kind: Kind, fileName: [UInt8], keys: KeyRing
    ) throws(FormatFault) -> SessionFile {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: 1)
        guard bytes.count <= maximumFile else { throw .malformed("it is too long") }
        guard try reader.integer(UInt8.self, "kind") == kind.rawValue else { throw .malformed("it has another kind") }
        try reader.zeros(5, "prefix")
        guard try reader.array(16, "vault id") == keys.vaultID, try reader.array(16, "name") == fileName else {
            throw .malformed("it belongs to another session or another vault")
        }
        let keyID = try reader.integer(UInt64.self, "key id")
        let stateLength = Int(try reader.integer(UInt32.self, "length of the state"))
        let namesLength = Int(try reader.integer(UInt32.self, "length of the names"))
        let prefix = Array(bytes.prefix(prefixLength))
        let stateBox = try reader.take(stateLength, "state")
        let namesBox = try reader.array(namesLength, "names")
        try reader.end()
        let state = try AuthenticatedBox.open(
            stateBox, key: keys.sessions, data: stateData(prefix, namesBox, keys), "state")
        let name = try openNames(namesBox, Array(prefix.prefix(headLength)), keyID, keys)
        if let name, keys.fileName(of: name) != fileName { throw .malformed("its names are another session's") }
        return SessionFile(
            kind: kind, state: state.withUnsafeBytes { Array($0) }, name: name, namesBox: namesBox)
    }

    /// Decrypts the session's names; nil if the file has no names or the metadata key is locked.
    private static func openNames(
        _ box: [UInt8], _ head: [UInt8], _ keyID: UInt64, _ keys: KeyRing
    ) throws(FormatFault) -> ItemName? {
        guard !box.isEmpty else { return nil }
        let key: SecretBytes
        do throws(FormatFault) {
            key = try keys.key(keyID, for: .metadata)
        } catch .lockedKey {
            return nil
        }
        let names = try box.lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: key, data: namesData(head, keys), "names")
        }
        return try names.lent { bytes throws(FormatFault) in
            var reader = ByteReader(bytes)
            let name = try NameFormat.parse(&reader)
            try reader.end()
            return name
        }
    }

    /// Encodes and encrypts the session's file under the keys of `keys`.
    ///
    /// If the metadata key is locked, the encrypted names are written as they were read, and a new file gets no names.
    func serialized(fileName: [UInt8], keys: KeyRing) throws(FormatFault) -> [UInt8] {
        guard state.count <= SessionFile.maximumState else { throw .malformed("its state is too long") }
        let metadataKey = name == nil ? nil : try? keys.currentKey(for: .metadata)
        let head = SessionFile.head(
            kind, fileName, metadataKey?.id ?? keys.currentKeyID(for: .metadata) ?? 0, keys)
        var namesBox = namesBox
        if let name, let metadataKey {
            namesBox = NameFormat.serialized(name).withUnsafeBytes {
                AuthenticatedBox.seal($0, key: metadataKey.bytes, data: SessionFile.namesData(head, keys))
            }
        }
        var writer = ByteWriter(capacity: SessionFile.prefixLength)
        writer.append(head)
        writer.append(integer: UInt32(state.count + AuthenticatedBox.overhead))
        writer.append(integer: UInt32(namesBox.count))
        let prefix = writer.bytes
        let stateBox = state.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: keys.sessions, data: SessionFile.stateData(prefix, namesBox, keys))
        }
        return prefix + stateBox + namesBox
    }

    /// The first fields of a session's file, before the lengths of the encrypted parts.
    private static func head(_ kind: Kind, _ fileName: [UInt8], _ keyID: UInt64, _ keys: KeyRing) -> [UInt8] {
        var writer = ByteWriter(capacity: headLength)
        writer.append(signature.utf8)
        writer.append(integer: UInt16(1))
        writer.append(integer: kind.rawValue)
        writer.zeros(5)
        writer.append(keys.vaultID)
        writer.append(fileName)
        writer.append(integer: keyID)
        return writer.bytes
    }

    /// The data authenticated with a session file's state: the unencrypted prefix and the encrypted names.
    private static func stateData(_ prefix: [UInt8], _ namesBox: [UInt8], _ keys: KeyRing) -> [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.append("TKsess-s".utf8)
        writer.append(integer: keys.era)
        writer.append(prefix)
        writer.append(namesBox)
        return writer.bytes
    }

    /// The data authenticated with the names in a session's file.
    ///
    /// The data contains no lengths, so that the old encrypted names stay valid beside a state of another length.
    private static func namesData(_ head: [UInt8], _ keys: KeyRing) -> [UInt8] {
        var writer = ByteWriter(capacity: 128)
        writer.append("TKsess-n".utf8)
        writer.append(integer: keys.era)
        writer.append(head)
        return writer.bytes
    }
}
