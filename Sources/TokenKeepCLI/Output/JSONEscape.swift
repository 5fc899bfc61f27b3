/// Escapes characters for JSON strings, and passes on the result byte by byte, so that a secret is never copied into a
/// String.
enum JSONEscape {
    /// Passes the bytes of one character, escaped for a JSON string, to `put`.
    ///
    /// Escapes the characters that JSON requires to be escaped, and those for which `Terminal.mustBeEscaped` is true.
    static func write(_ scalar: Unicode.Scalar, to put: (UInt8) -> Void) {
        switch scalar {
        case "\"", "\\":
            put(UInt8(ascii: "\\"))
            put(UInt8(truncatingIfNeeded: scalar.value))
        case "\u{08}": pair("b", put)
        case "\u{0C}": pair("f", put)
        case "\n": pair("n", put)
        case "\r": pair("r", put)
        case "\t": pair("t", put)
        case " "..."~": put(UInt8(truncatingIfNeeded: scalar.value))
        case _ where Terminal.mustBeEscaped(scalar): for unit in UTF16.encode(scalar) ?? .init() { escape(unit, put) }
        default: for byte in UTF8.encode(scalar) ?? .init() { put(byte) }
        }
    }

    private static func pair(_ letter: Unicode.Scalar, _ put: (UInt8) -> Void) {
        put(UInt8(ascii: "\\"))
        put(UInt8(truncatingIfNeeded: letter.value))
    }

    private static func escape(_ unit: UInt16, _ put: (UInt8) -> Void) {
        put(UInt8(ascii: "\\"))
        put(UInt8(ascii: "u"))
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(truncatingIfNeeded: unit >> UInt16(shift)) & 15
            put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
