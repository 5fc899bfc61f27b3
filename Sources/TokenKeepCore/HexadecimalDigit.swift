/// Hexadecimal digits of either case, as in percent-encoding (RFC 3986, section 2.1).
package enum HexadecimalDigit {
    /// The value of a digit, 0 to 15; nil for any other byte.
    package static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Removes two digits from the beginning of a text and returns the byte that they encode.
    ///
    /// Returns nil if the text does not begin with two digits. The bytes that were read are removed in this case, too.
    package static func takeByte<Text: Collection>(from text: inout Text) -> UInt8?
    where Text.Element == UInt8, Text.SubSequence == Text {
        guard let high = text.popFirst().flatMap(value), let low = text.popFirst().flatMap(value) else { return nil }
        return high << 4 | low
    }
}
