import CSodium
package import TokenKeepCore

/// A recovery code: six groups of five symbols, which open a vault whose password was forgotten.
///
/// The code has 143 random bits. The last symbol is a checksum, in which each symbol is weighted by its position. The
/// code uses 31 different symbols. As 31 is prime, the checksum detects every single misread symbol and every exchange
/// of two symbols, before a key is derived.
package enum RecoveryCode {
    private static let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXY".utf8)
    private static let count = 30
    private static let group = 5

    /// Makes a new code in its printed form, with a hyphen between the groups.
    package static func make() throws(TokenKeepError) -> SecretBytes {
        try Sodium.start()
        return try SecretBytes(count: count + count / group - 1) { text in
            var sum = 0
            var place = 0
            for position in 1...count {
                let value: Int
                if position < count {
                    value = Int(randombytes_uniform(UInt32(symbols.count)))
                    sum += position * value
                } else {
                    // The last symbol has the weight 30, which is -1 modulo 31, and therefore equals the weighted sum
                    // of the first 29 symbols.
                    value = sum % symbols.count
                }
                text[place] = symbols[value]
                place += 1
                if position % group == 0, position < count {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
            }
        }
    }

    /// Removes the separators from a typed code and converts it to upper case. The key is derived from these bytes.
    ///
    /// - Throws: ``Status/invalid`` if the text is not a recovery code.
    package static func normalized(_ typed: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: count) { text throws(TokenKeepError) in
            let (found, sum) = typed.withUnsafeBytes { typed in
                var found = 0
                var sum = 0
                for byte in typed where !isSeparator(byte) {
                    guard found < count, let value = symbols.firstIndex(of: meant(byte)) else { return (-1, 0) }
                    text[found] = symbols[value]
                    found += 1
                    sum += found * value
                }
                return (found, sum)
            }
            guard found == count, sum % symbols.count == 0 else {
                throw TokenKeepError(
                    .invalid, "this is no recovery code: a symbol is missing or was read wrongly",
                    hint: "it has \(count) digits and letters; I, L, O, U and Z are none of them")
            }
        }
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte)
    }

    /// The symbol that a typed byte stands for: O means 0, I and L mean 1, and letters become upper case.
    private static func meant(_ byte: UInt8) -> UInt8 {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
        switch upper {
        case UInt8(ascii: "O"): return UInt8(ascii: "0")
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return UInt8(ascii: "1")
        default: return upper
        }
    }
}
