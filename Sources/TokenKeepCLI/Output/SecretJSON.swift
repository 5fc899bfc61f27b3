import TokenKeepCore

/// A secret as a JSON string, in guarded memory.
///
/// No String and no growing buffer ever contains the secret: the length of the text is counted first, and the text is
/// then written into one guarded buffer.
struct SecretJSON {
    /// The member's name: `secret`, or `secret_base64` if the secret is not UTF-8.
    let member: String
    /// The JSON string with its quotation marks.
    let value: SecretBytes

    /// Encodes a secret.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    init(_ secret: SecretBytes) throws(TokenKeepError) {
        var count = 0
        let isText = secret.withUnsafeBytes { SecretJSON.writeText($0) { _ in count += 1 } }
        member = isText ? "secret" : "secret_base64"
        if !isText { count = Base64Text.length(of: secret.count) }
        value = try SecretBytes(count: count + 2) { buffer throws(TokenKeepError) in
            var end = 0
            func put(_ byte: UInt8) {
                buffer[end] = byte
                end += 1
            }
            put(UInt8(ascii: "\""))
            secret.withUnsafeBytes { bytes in
                if isText {
                    _ = SecretJSON.writeText(bytes, put)
                } else {
                    // The encoder appends a NUL, which the closing quotation mark overwrites.
                    Base64Text.encode(bytes, into: UnsafeMutableRawBufferPointer(rebasing: buffer[1...]))
                    end += count
                }
            }
            put(UInt8(ascii: "\""))
        }
    }

    /// Passes the bytes of the escaped text to `put`. Returns false if the secret is not UTF-8.
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
}
