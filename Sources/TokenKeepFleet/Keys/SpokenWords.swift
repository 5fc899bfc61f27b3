import TokenKeepCore
import TokenKeepKeys

/// Eight words that a person can read out and type.
///
/// Each word encodes 16 random bits as consonant, vowel, consonant, vowel, consonant (proquints, arXiv 0901.4016).
enum SpokenWords {
    static let count = 8
    private static let consonants = Array("bdfghjklmnprstvz".utf8)
    private static let vowels = Array("aiou".utf8)

    /// Makes new words, separated by spaces.
    static func make() throws(TokenKeepError) -> SecretBytes {
        let random = try SecretBytes(randomCount: count * 2)
        return try SecretBytes(count: count * 6 - 1) { text in
            random.withUnsafeBytes { random in
                for word in 0..<count {
                    let bits = UInt16(random[word * 2]) << 8 | UInt16(random[word * 2 + 1])
                    write(bits, to: text, at: word * 6)
                    if word + 1 < count { text[word * 6 + 5] = UInt8(ascii: " ") }
                }
            }
        }
    }

    private static func write(_ bits: UInt16, to text: UnsafeMutableRawBufferPointer, at start: Int) {
        text[start] = consonants[Int(bits >> 12 & 15)]
        text[start + 1] = vowels[Int(bits >> 10 & 3)]
        text[start + 2] = consonants[Int(bits >> 6 & 15)]
        text[start + 3] = vowels[Int(bits >> 4 & 3)]
        text[start + 4] = consonants[Int(bits & 15)]
    }

    /// Converts typed words to lower case with one space between them.
    ///
    /// - Throws: ``Status/invalid`` if there are not eight words of five letters of these alphabets.
    static func normalized(_ typed: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: count * 6 - 1) { text throws(TokenKeepError) in
            let letters = typed.withUnsafeBytes { typed in
                var letters = 0
                for byte in typed where ![0x20, 0x2D, 0x09, 0x0A, 0x0D].contains(byte) {
                    let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                    let isVowel = letters % 5 % 2 == 1
                    guard letters < count * 5, (isVowel ? vowels : consonants).contains(lower) else { return -1 }
                    text[letters / 5 * 6 + letters % 5] = lower
                    letters += 1
                }
                return letters
            }
            guard letters == count * 5 else {
                throw TokenKeepError(
                    .invalid, "these are not the words of a join code", hint: "there are eight, of five letters each")
            }
            for gap in 1..<count { text[gap * 6 - 1] = UInt8(ascii: " ") }
        }
    }
}
