import CSodium

/// Converts base64 (RFC 4648) by libsodium, without table look-ups, so that the time does not depend on the secret.
package enum Base64Text {
    /// An alphabet and its padding. The raw values are libsodium's.
    package enum Alphabet: Int32, Sendable {
        /// `+` and `/`, with padding.
        case standard = 1
        /// `+` and `/`, without padding.
        case unpadded = 3
        /// `-` and `_` (for URLs), without padding.
        case url = 7
    }

    /// The length of the base64 text for `count` bytes, without a NUL.
    package static func length(of count: Int, _ alphabet: Alphabet = .standard) -> Int {
        sodium_base64_encoded_len(count, alphabet.rawValue) - 1
    }

    /// Encodes bytes. Writes nothing if `room` is too short for the text and a NUL after it.
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

    /// Encodes bytes into a secret's memory. The NUL goes into the zero byte that follows every secret.
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

    /// Decodes a text and returns the number of bytes; nil if the text is not base64 of this alphabet or `room` is too
    /// short.
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
