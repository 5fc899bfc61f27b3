import TokenKeepCore
import TokenKeepKeys

/// A record file, split into its unencrypted prefix and its encrypted parts.
///
/// Each part is decrypted only on request.
final class RecordFile: Sendable {
    let prefix: RecordPrefix
    let bytes: [UInt8]
    let keys: KeyRing
    private let item: ItemName?

    /// Splits a file into its unencrypted prefix and its encrypted parts.
    ///
    /// - Parameters:
    ///   - name: the 16 bytes that the file's name encodes. The record must contain the same bytes.
    ///   - item: the item's name, from which the caller computed `name`; nil if unknown.
    init(_ bytes: [UInt8], name: [UInt8], of item: ItemName? = nil, keys: KeyRing) throws(FormatFault) {
        prefix = try bytes.lent { file throws(FormatFault) in
            var reader = ByteReader(file)
            let prefix = try RecordPrefix.parse(&reader)
            guard reader.remaining == prefix.stateLength + prefix.metadataLength + prefix.secretLength else {
                throw .malformed("its length is not what its prefix says")
            }
            return prefix
        }
        guard prefix.vaultID == keys.vaultID else { throw .malformed("it belongs to another vault") }
        guard prefix.kind == .value else { throw .malformed("it is of another kind than the items of a vault") }
        guard prefix.name == name else { throw .malformed("it belongs to another item") }
        guard prefix.era == keys.era else { throw .unknownKey }
        self.bytes = bytes
        self.keys = keys
        self.item = item
    }

    /// Whether the record has a value of the item. False for a tombstone, the record of a cleared item.
    var holdsValue: Bool { prefix.level != nil }

    /// Decrypts the record's state, without pending writes that the vault did not make.
    ///
    /// The decryption also proves that the record's state, metadata and secret belong together.
    func openState() throws(FormatFault) -> StateFields {
        let plaintext = try bytes.lent { file throws(FormatFault) in
            let stateEnd = RecordPrefix.length + prefix.stateLength
            let boxes = UnsafeRawBufferPointer(rebasing: file[stateEnd...])
            let data = RecordPrefix.stateAdditionalData(of: file, boxes: boxes)
            let box = UnsafeRawBufferPointer(rebasing: file[RecordPrefix.length..<stateEnd])
            return try AuthenticatedBox.open(box, key: keys.states, data: data, "state")
        }
        let state = try plaintext.lent { bytes throws(FormatFault) in try StateFields.parse(bytes) }
        if let name = state.name {
            guard !holdsValue || state.sealed != nil else { throw .malformed("its state repeats its name") }
            guard isName(name) else { throw .malformed("its state names another item") }
        }
        return try checkWrites(of: state)
    }

    /// The bytes of a record with this state and the encrypted metadata and secret of this record.
    func replacing(_ state: StateFields) throws(FormatFault) -> [UInt8] {
        let boxes = Array(bytes.suffix(prefix.metadataLength + prefix.secretLength))
        return try RecordWriter.joining(prefix, state, boxes: boxes, keys: keys)
    }

    /// Decrypts the metadata. Throws if the record is a tombstone.
    func openMetadata() throws(FormatFault) -> MetadataFields {
        guard let level = prefix.level else { throw .malformed("a tombstone has no metadata") }
        guard
            prefix.classKeyID == keys.currentKeyID(for: .level(level))
                || !keys.header.names(prefix.classKeyID, .level(level))
        else { throw .malformed("it names a key that seals nothing any more") }
        let plaintext = try openMetadataBox()
        let metadata = try plaintext.lent { bytes throws(FormatFault) in
            try MetadataFields.parse(bytes, level: level, flags: prefix.flags)
        }
        guard isName(metadata.details.name) else {
            throw .malformed("its metadata belongs to another item")
        }
        return metadata
    }

    /// Whether the record belongs to the item with this name.
    private func isName(_ name: ItemName) -> Bool { name == item || keys.fileName(of: name) == prefix.name }

    /// Decrypts the metadata without parsing its fields.
    func openMetadataBox() throws(FormatFault) -> SecretBytes {
        let key = try keys.key(prefix.metadataKeyID, for: .metadata)
        return try bytes.lent { file throws(FormatFault) in
            let box = UnsafeRawBufferPointer(rebasing: file[metadataRange])
            return try AuthenticatedBox.open(
                box, key: key, data: RecordPrefix.metadataAdditionalData(of: file), "metadata")
        }
    }

    /// Decrypts the metadata and the secret. Throws if the record is a tombstone.
    ///
    /// - Parameter presence: the keys for items that require the password at each use; nil if the user has not entered
    ///   it.
    func openItem(_ presence: PresenceGrant?) throws(FormatFault) -> TokenItem {
        let details = try openMetadata().details
        let secret = try openSecret(presence)
        guard keys.journal.versions.version(of: details, secret: secret) == details.version else {
            throw .malformed("its version is not that of its content")
        }
        return TokenItem(details: details, secret: secret)
    }

    /// Decrypts the secret into guarded memory. Throws if the record is a tombstone.
    private func openSecret(_ presence: PresenceGrant?) throws(FormatFault) -> SecretBytes {
        let data = bytes.withUnsafeBytes { file in
            RecordPrefix.secretAdditionalData(
                of: file, metadataBox: UnsafeRawBufferPointer(rebasing: file[metadataRange]))
        }
        return try keys.openSecret(of: prefix, presence?.current) { key throws(FormatFault) in
            try bytes.lent { file throws(FormatFault) in
                let box = UnsafeRawBufferPointer(rebasing: file.suffix(prefix.secretLength))
                return try AuthenticatedBox.open(box, key: key, data: data, "secret")
            }
        }
    }

    /// The range of the encrypted metadata and secret in the file.
    var boxesRange: Range<Int> { RecordPrefix.length + prefix.stateLength..<bytes.count }

    private var metadataRange: Range<Int> {
        let start = RecordPrefix.length + prefix.stateLength
        return start..<start + prefix.metadataLength
    }

    /// Describes the record: its item, if the keys are open, and its pending changes, which are always readable.
    func journalRecord(
        _ state: StateFields, _ presence: PresenceGrant? = nil
    ) throws(FormatFault) -> JournalRecord {
        try recordWithMetadata(state, presence).record
    }

    /// Describes the record, and returns its metadata, which is nil for a tombstone or if the vault is locked.
    func recordWithMetadata(
        _ state: StateFields, _ presence: PresenceGrant?
    ) throws(FormatFault) -> (record: JournalRecord, metadata: MetadataFields?) {
        let shown = "records/\(Hexadecimal.text(prefix.name))"
        var metadata: MetadataFields?
        var locked: TokenKeepError?
        do throws(FormatFault) {
            if holdsValue { metadata = try openMetadata() }
        } catch {
            guard case .lockedKey = error else { throw error }
            locked = error.error(in: shown)
        }
        let unchecked = state.writes == .unknown ? locked : nil
        let record = JournalRecord(
            holdsValue: holdsValue, pending: state.pending, details: metadata?.details, name: state.name,
            locked: locked,
            forgery: state.writes == .forged ? WritesMAC.forgery(in: shown) : nil
        ) { () throws(TokenKeepError) in
            guard self.holdsValue else { return nil }
            // The pending write was not checked while the vault was locked. Even if the vault is unlocked by now, the
            // write's module must not get the value.
            if let unchecked { throw unchecked }
            do throws(FormatFault) {
                return try self.openItem(presence)
            } catch {
                throw error.error(in: shown)
            }
        }
        return (record, metadata)
    }
}
