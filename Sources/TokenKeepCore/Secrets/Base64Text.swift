import CSodium

/// Base64 (RFC 4648). libsodium converts it without tables, so that its time tells nothing of a secret.
package enum Base64Text {
    /// An alphabet with its padding, by libsodium's number.
    package enum Alphabet: Int32, Sendable {
        /// With padding.
        case standard = 1
        /// Without padding.
        case unpadded = 3
        /// For addresses, without padding.
        case url = 7
    }

    /// The length of the text for so many bytes.
    package static func length(of count: Int, _ alphabet: Alphabet = .standard) -> Int {
        sodium_base64_encoded_len(count, alphabet.rawValue) - 1
    }

    /// Encodes bytes. Writes nothing if `room` is shorter than the text and the NUL after the text.
    ///
    package static func encode(
        _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, _ alphabet: Alphabet = .standard
    ) {
        guard let start = room.baseAddress?.assumingMemoryBound(to: CChar.self),
            room.count > length(of: bytes.count, alphabet)
        else { return }
        _ = sodium_bin2base64(
            start, room.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            bytes.count, alphabet.rawValue)
    }

    /// Encodes bytes into a secret's memory, up to its end: a secret has a byte after its own, for the NUL.
    package static func encode(
        _ bytes: UnsafeRawBufferPointer, intoSecret room: UnsafeMutableRawBufferPointer,
        _ alphabet: Alphabet = .standard
    ) {
        encode(bytes, into: UnsafeMutableRawBufferPointer(start: room.baseAddress, count: room.count + 1), alphabet)
    }

    /// Encodes bytes into guarded memory.
    package static func encoded(
        _ bytes: UnsafeRawBufferPointer, _ alphabet: Alphabet = .standard
    ) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: length(of: bytes.count, alphabet)) { encode(bytes, intoSecret: $0, alphabet) }
    }

    /// Decodes a text. Returns the number of bytes; nil if the text is not base64 of this alphabet, or has no room.
    package static func decode(
        _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, _ alphabet: Alphabet = .standard
    ) -> Int? {
        guard let start = room.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        var count = 0
        let outcome = sodium_base642bin(
            start, room.count, text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, nil, &count, nil,
            alphabet.rawValue)
        return outcome == 0 ? count : nil
    }
}
