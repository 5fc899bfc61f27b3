import TokenKeepCore

/// A record's bytes, taken apart and opened as far as it is asked for.
struct RecordFile {
    let prefix: RecordPrefix
    private let bytes: [UInt8]
    private let keys: KeyHierarchy

    /// Takes a file apart.
    ///
    /// - Parameter name: the file's name in binary, which the record must repeat.
    init(_ bytes: [UInt8], name: [UInt8], keys: KeyHierarchy) throws(FormatFault) {
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
        guard prefix.nameKeyID == keys.nameKeyID else { throw .unknownKey }
        self.bytes = bytes
        self.keys = keys
    }

    /// Opens the state, which also proves that the three boxes belong together.
    func openState(in arena: SecretArena) throws(FormatFault) -> StateFields {
        let boxes = bytes[(RecordPrefix.length + prefix.stateLength)...]
        let data = Array(boxes).withUnsafeBytes { prefix.stateAdditionalData(boxes: $0) }
        let plaintext = try Array(stateBox).lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: keys.states, data: data, in: arena, "state")
        }
        let state = try plaintext.lent { bytes throws(FormatFault) in try StateFields.parse(bytes, in: arena) }
        guard (state.state == .tombstone) == (prefix.level == nil) else {
            throw .malformed("its state does not fit its boxes")
        }
        if let name = state.name, keys.fileName(of: name) != prefix.name {
            throw .malformed("its state names another item")
        }
        return state
    }

    /// Opens the metadata of a record that is no tombstone.
    func openMetadata(in arena: SecretArena) throws(FormatFault) -> MetadataFields {
        guard let level = prefix.level else { throw .malformed("a tombstone has no metadata") }
        let key = try keys.key(prefix.metadataKeyID, for: .metadata)
        let data = prefix.metadataAdditionalData()
        let plaintext = try Array(metadataBox).lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: key, data: data, in: arena, "metadata")
        }
        let metadata = try plaintext.lent { bytes throws(FormatFault) in
            try MetadataFields.parse(bytes, level: level, flags: prefix.flags, in: arena)
        }
        guard keys.fileName(of: metadata.details.name) == prefix.name else {
            throw .malformed("its metadata belongs to another item")
        }
        return metadata
    }

    /// Opens metadata and secret of a record that is no tombstone.
    ///
    /// - Parameter presence: what the user's answer opened, which an item that asks at each use needs.
    func openItem(in arena: SecretArena, _ presence: PresenceGrant?) throws(FormatFault) -> TokenItem {
        let details = try openMetadata(in: arena).details
        let secret = try openSecret(in: arena, presence)
        guard keys.journal.versions.version(of: details, secret: secret) == details.version else {
            throw .malformed("its version is not that of its content")
        }
        return TokenItem(details: details, secret: secret)
    }

    /// Opens the secret of a record that is no tombstone, into guarded memory of its own.
    private func openSecret(in arena: SecretArena, _ presence: PresenceGrant?) throws(FormatFault) -> SecretBytes {
        let data = prefix.secretAdditionalData(metadataBox: metadataBox)
        return try keys.openSecret(of: prefix, presence, in: arena) { key throws(FormatFault) in
            try bytes.lent { file throws(FormatFault) in
                let box = UnsafeRawBufferPointer(rebasing: file.suffix(prefix.secretLength))
                return try AuthenticatedBox.open(box, key: key, data: data, in: nil, "secret")
            }
        }
    }

    private var stateBox: ArraySlice<UInt8> {
        bytes[RecordPrefix.length..<RecordPrefix.length + prefix.stateLength]
    }

    private var metadataBox: ArraySlice<UInt8> {
        let start = RecordPrefix.length + prefix.stateLength
        return bytes[start..<start + prefix.metadataLength]
    }
}

extension SecretBytes {
    /// `withUnsafeBytes` under the name that arrays have here.
    func lent<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(body)
    }
}
