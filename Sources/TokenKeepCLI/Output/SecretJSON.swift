import TokenKeepCore

/// The value of a secret in JSON, in guarded memory.
///
/// No String and no growing buffer ever holds the secret: the text's length is counted first, then the text is written
/// into one guarded buffer.
struct SecretJSON {
    /// The member's name: `secret`, or `secret_base64` if the secret is not UTF-8.
    let member: String
    /// The JSON string with its quotation marks.
    let value: SecretBytes

    /// Makes the text of a secret.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    init(_ secret: SecretBytes) throws(TokenKeepError) {
        var count = 0
        let isText = secret.withUnsafeBytes { SecretJSON.writeText($0) { _ in count += 1 } }
        member = isText ? "secret" : "secret_base64"
        if !isText { count = (secret.count + 2) / 3 * 4 }
        value = try SecretBytes(count: count + 2) { buffer throws(TokenKeepError) in
            var end = 0
            func put(_ byte: UInt8) {
                buffer[end] = byte
                end += 1
            }
            put(UInt8(ascii: "\""))
            secret.withUnsafeBytes { bytes in
                if isText { _ = SecretJSON.writeText(bytes, put) } else { SecretJSON.writeBase64(bytes, put) }
            }
            put(UInt8(ascii: "\""))
        }
    }

    /// Passes the escaped text to `put`. Returns false if the bytes are not UTF-8.
    private static func writeText(_ bytes: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) -> Bool {
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        while true {
            switch decoder.decode(&rest) {
            case .scalarValue(let scalar): JSONEscape.write(scalar, to: put)
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    /// Passes base64 with padding (RFC 4648, section 4) to `put`.
    private static func writeBase64(_ bytes: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for index in 0..<4 {
                let digit = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * index)) & 63
                put(index <= group.count ? SecretJSON.letter(digit) : UInt8(ascii: "="))
            }
        }
    }

    /// The letter of six bits, computed: a table would be read at an address that depends on the secret.
    private static func letter(_ digit: UInt8) -> UInt8 {
        switch digit {
        case 0..<26: UInt8(ascii: "A") + digit
        case 26..<52: UInt8(ascii: "a") + digit - 26
        case 52..<62: UInt8(ascii: "0") + digit - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
