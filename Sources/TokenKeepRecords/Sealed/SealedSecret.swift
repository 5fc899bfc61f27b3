import TokenKeepCore
import TokenKeepKeys

/// A secret that the vault encrypted for another module: an unencrypted prefix, then the encrypted secret.
enum SealedSecret {
    static func seal(
        _ secret: SecretBytes, of details: ItemDetails, keys: KeyRing, _ presence: PresenceGrant?
    ) throws(FormatFault) -> [UInt8] {
        let classKey = try keys.currentKey(for: .level(details.accessLevel))
        let sealingKey = try RecordWriter.sealingKey(classKey.bytes, details.flags, presence)
        let prefix = RecordPrefix(
            kind: .sealed, level: details.accessLevel, vaultID: keys.vaultID, name: keys.journal.id(of: details.name),
            flags: details.flags, era: keys.era, metadataKeyID: 0, classKeyID: classKey.id, stateLength: 0,
            metadataLength: 0, secretLength: secret.count + AuthenticatedBox.overhead)
        try prefix.checkLengths()
        let box = secret.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: sealingKey, data: prefix.secretAdditionalData(metadataBox: []))
        }
        return prefix.serialized() + box
    }

    /// The id of the vault that sealed these bytes; nil if the bytes are not a sealed secret.
    static func vaultID(of secret: SecretBytes) -> [UInt8]? {
        secret.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let prefix = try? RecordPrefix.parse(&reader), prefix.kind == .sealed,
                reader.remaining == prefix.secretLength
            else { return nil }
            return prefix.vaultID
        }
    }

    /// Decrypts a sealed secret.
    ///
    /// - Parameter details: the item's name, level and flags, which must be those of the sealing.
    static func open(
        _ sealed: SecretBytes, of details: ItemDetails, keys: KeyRing, _ presence: PresenceGrant?
    ) throws(FormatFault) -> SecretBytes {
        try sealed.withUnsafeBytes { bytes throws(FormatFault) in
            try open(bytes, of: details, keys: keys, presence)
        }
    }

    private static func open(
        _ bytes: UnsafeRawBufferPointer, of details: ItemDetails, keys: KeyRing, _ presence: PresenceGrant?
    ) throws(FormatFault) -> SecretBytes {
        var reader = ByteReader(bytes)
        let prefix = try RecordPrefix.parse(&reader)
        guard prefix.kind == .sealed else { throw .malformed("it is of another kind") }
        guard reader.remaining == prefix.secretLength else {
            throw .malformed("its length is not what its prefix says")
        }
        guard prefix.vaultID == keys.vaultID else { throw .malformed("another vault sealed it") }
        guard prefix.name == keys.journal.id(of: details.name) else { throw .malformed("it is another item's") }
        guard prefix.era <= keys.era else { throw .malformed("it was sealed in a later era") }
        guard prefix.level == details.accessLevel, prefix.flags == details.flags else {
            throw .malformed("it was sealed for another level or other flags")
        }
        let box = UnsafeRawBufferPointer(rebasing: bytes.suffix(prefix.secretLength))
        let data = prefix.secretAdditionalData(metadataBox: [])
        return try keys.openSecret(of: prefix, presence) { key throws(FormatFault) in
            try AuthenticatedBox.open(box, key: key, data: data, "secret")
        }
    }
}

extension KeyRing {
    /// Decrypts a secret under the key that the record's unencrypted prefix names.
    ///
    /// - Parameters:
    ///   - presence: the keys for items that require the password at each use; nil if the user has not entered it.
    ///   - open: decrypts the secret with the given key.
    func openSecret(
        of prefix: RecordPrefix, _ presence: PresenceGrant?,
        _ open: (SecretBytes) throws(FormatFault) -> SecretBytes
    ) throws(FormatFault) -> SecretBytes {
        guard let level = prefix.level else { throw .malformed("a tombstone has no secret") }
        let classKey =
            prefix.flags.contains(.requireEnforced)
            ? try enforcedKey(prefix.classKeyID, for: level) : try key(prefix.classKeyID, for: .level(level))
        guard prefix.flags.contains(.userPresence) else { return try open(classKey) }
        // After an unlock with a recovery code, there are no presence keys, because the code does not open them.
        guard let presence, !presence.keys.isEmpty else { throw .presenceNeeded }
        for presenceKey in presence.keys {
            let joined = try FormatFault.needing { () throws(TokenKeepError) in
                try Subkey.joining(classKey, presenceKey)
            }
            if let secret = try? open(joined) { return secret }
        }
        throw .malformed("no key that the password opens fits its secret; where the password was recovered, none will")
    }
}
