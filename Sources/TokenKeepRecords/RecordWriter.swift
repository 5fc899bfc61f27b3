import CSodium
import TokenKeepCore
import TokenKeepKeys

/// Encodes and encrypts records.
enum RecordWriter {
    /// Encrypts an item and returns the bytes of its record.
    ///
    /// - Parameter presence: the keys for items that require the password at each use; nil if the user has not entered
    ///   it.
    /// - Throws: a fault if a reader would reject the record, or if a key is locked or missing.
    static func value(
        _ metadata: MetadataFields, secret: SecretBytes, state: StateFields, keys: KeyRing,
        presence: PresenceGrant?
    ) throws(FormatFault) -> [UInt8] {
        let details = metadata.details
        let metadataKey = try keys.currentKey(for: .metadata)
        let classKey = try keys.currentKey(for: .level(details.accessLevel))
        let sealingKey = try sealingKey(classKey.bytes, details.flags, presence)
        let metadataPlaintext = metadata.serialized()
        let prefix = RecordPrefix(
            kind: .value, level: details.accessLevel, vaultID: keys.vaultID, name: keys.fileName(of: details.name),
            flags: details.flags, era: keys.era, metadataKeyID: metadataKey.id, classKeyID: classKey.id,
            stateLength: 0, metadataLength: metadataPlaintext.count + AuthenticatedBox.overhead,
            secretLength: secret.count + AuthenticatedBox.overhead)
        let metadataBox = metadataPlaintext.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: metadataKey.bytes, data: prefix.metadataAdditionalData())
        }
        let secretBox = secret.withUnsafeBytes {
            AuthenticatedBox.seal(
                $0, key: sealingKey, data: prefix.secretAdditionalData(metadataBox: metadataBox))
        }
        let boxes = metadataBox + secretBox
        var state = state
        state.writesMAC = try prefix.serialized().lent { file throws(FormatFault) in
            try boxes.lent { boxes throws(FormatFault) in
                try WritesMAC.of(state.pending, prefix: file, boxes: boxes, metadataKey: metadataKey.bytes)
            }
        }
        return try joining(prefix, state, boxes: boxes, keys: keys)
    }

    /// The key that encrypts the secret of an item with these flags.
    static func sealingKey(
        _ classKey: SecretBytes, _ flags: ItemFlags, _ presence: PresenceGrant?
    ) throws(FormatFault) -> SecretBytes {
        guard flags.contains(.userPresence) else { return classKey }
        guard let presenceKey = presence?.keys.first else { throw .presenceNeeded }
        return try FormatFault.needing { () throws(TokenKeepError) in
            try Subkey.joining(classKey, presenceKey)
        }
    }

    /// The bytes of a tombstone, the record of a cleared item.
    static func tombstone(name: [UInt8], state: StateFields, keys: KeyRing) throws(FormatFault) -> [UInt8] {
        let prefix = RecordPrefix(
            kind: .value, level: nil, vaultID: keys.vaultID, name: name, flags: [], era: keys.era,
            metadataKeyID: 0, classKeyID: 0, stateLength: 0, metadataLength: 0, secretLength: 0)
        return try joining(prefix, state, boxes: [], keys: keys)
    }

    /// Wipes the bytes of a state, because the state of a session's record may contain a token.
    private static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { sodium_memzero(start, bytes.count) }
        }
    }

    /// Encrypts a record's state, and joins it with the record's other encrypted parts.
    ///
    /// - Parameter prefix: the record's prefix. Its field for the length of the state is ignored, and is written anew.
    static func joining(
        _ prefix: RecordPrefix, _ state: StateFields, boxes: [UInt8], keys: KeyRing
    ) throws(FormatFault) -> [UInt8] {
        try state.check()
        var plaintext = state.serialized()
        defer { wipe(&plaintext) }
        var prefix = prefix
        prefix.stateLength = plaintext.count + AuthenticatedBox.overhead
        try prefix.checkLengths()
        let data = boxes.withUnsafeBytes { prefix.stateAdditionalData(boxes: $0) }
        let stateBox = plaintext.withUnsafeBytes { AuthenticatedBox.seal($0, key: keys.states, data: data) }
        return prefix.serialized() + stateBox + boxes
    }
}
