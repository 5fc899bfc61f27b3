package import TokenKeepCore

/// A key of the vault, encrypted under a key that comes from a password, a recovery code, the keyfile or a device.
package struct WrappedKey: Equatable, Sendable {
    package let purpose: KeyPurpose
    /// Whether the key was replaced, and is kept only to decrypt secrets in other modules.
    package let isRetiring: Bool
    package let id: UInt64
    let box: [UInt8]

    private static let boxLength = 72

    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> WrappedKey {
        guard let purpose = KeyPurpose(number: try reader.integer(UInt8.self, "purpose of a key")), purpose.isOfSlots
        else { throw .malformed("a wrapped key has an unknown purpose") }
        let state = try reader.integer(UInt8.self, "state of a key")
        guard state <= 1, state == 0 || purpose.mayRetire else {
            throw .malformed("a wrapped key has an unknown state")
        }
        try reader.zeros(6, "wrapped key")
        return try parse(&reader, purpose, isRetiring: state == 1)
    }

    /// Parses the name key or the journal key. The header contains only the id and the encrypted bytes of these keys.
    static func parse(_ reader: inout ByteReader, ofKeyfile purpose: KeyPurpose) throws(FormatFault) -> WrappedKey {
        try parse(&reader, purpose, isRetiring: false)
    }

    private static func parse(
        _ reader: inout ByteReader, _ purpose: KeyPurpose, isRetiring: Bool
    ) throws(FormatFault) -> WrappedKey {
        let id = try reader.integer(UInt64.self, "key id")
        guard id != 0 else { throw .malformed("a key id is 0") }
        return WrappedKey(
            purpose: purpose, isRetiring: isRetiring, id: id, box: try reader.array(boxLength, "wrapped key"))
    }

    func write(to writer: inout ByteWriter) {
        writer.append(integer: purpose.number)
        writer.append(integer: UInt8(isRetiring ? 1 : 0))
        writer.zeros(6)
        writer.append(integer: id)
        writer.append(box)
    }

    /// The vault and the header slot for which a key is encrypted. The key cannot be decrypted for another vault or
    /// slot.
    struct Place {
        let vaultID: [UInt8]
        let era: UInt64
        let slotType: KnownSlot.SlotType
        /// The id of the header slot that contains the key; 0 for the name key and the journal key, which are in no
        /// slot.
        let slotID: UInt64
    }

    /// Encrypts a key of the vault for a slot of its header.
    static func wrapping(_ key: OpenKey, at place: Place, with wrapping: SecretBytes) -> WrappedKey {
        let data = additionalData(place, key.purpose, isRetiring: key.isRetiring, id: key.id)
        let box = key.bytes.withUnsafeBytes { AuthenticatedBox.seal($0, key: wrapping, data: data) }
        return WrappedKey(purpose: key.purpose, isRetiring: key.isRetiring, id: key.id, box: box)
    }

    /// Decrypts the key.
    ///
    /// - Throws: ``FormatFault/malformed(_:)`` if `wrapping` is the wrong key, or the key was encrypted for another
    ///   header slot.
    func open(at place: Place, with wrapping: SecretBytes) throws(FormatFault) -> OpenKey {
        let data = WrappedKey.additionalData(place, purpose, isRetiring: isRetiring, id: id)
        let opened = try box.lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: wrapping, data: data, "wrapped key")
        }
        return OpenKey(purpose: purpose, isRetiring: isRetiring, id: id, bytes: opened)
    }

    private static func additionalData(
        _ place: Place, _ purpose: KeyPurpose, isRetiring: Bool, id: UInt64
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 58)
        writer.append("TKwrappedkey".utf8)
        writer.append(integer: UInt16(1))
        writer.append(place.vaultID)
        writer.append(integer: place.era)
        writer.append(integer: place.slotType.rawValue)
        writer.append(integer: place.slotID)
        writer.append(integer: purpose.number)
        writer.append(integer: UInt8(isRetiring ? 1 : 0))
        writer.append(integer: id)
        return writer.bytes
    }
}

/// A decrypted key of the vault.
package struct OpenKey: Sendable {
    package let purpose: KeyPurpose
    package let isRetiring: Bool
    package let id: UInt64
    package let bytes: SecretBytes

    /// Makes a new random key of the vault.
    static func make(_ purpose: KeyPurpose) throws(TokenKeepError) -> OpenKey {
        OpenKey(
            purpose: purpose, isRetiring: false, id: RandomBytes.id(),
            bytes: try SecretBytes(randomCount: KeyRing.keyLength))
    }

    /// A copy of the key that is marked as retiring: it only decrypts secrets that were encrypted earlier.
    package var retiring: OpenKey { OpenKey(purpose: purpose, isRetiring: true, id: id, bytes: bytes) }
}
