import Glibc
import TokenKeepCore

/// Searches the bytes of a file for settings with a value. The file may have any encoding, UTF-16 included.
struct TokenScan {
    /// The bytes without spaces and quotation marks. In this form, settings of JSON, YAML, TOML and INI are alike:
    /// name, sign, value.
    private let plain: [UInt8]
    /// The bytes with one space for each series of blanks, to search for settings whose sign is a blank.
    private let words: [UInt8]

    init(_ bytes: [UInt8]) {
        var plain: [UInt8] = []
        var words: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        words.reserveCapacity(bytes.count)
        let mark = ByteOrderMark.isUTF16(bytes) ? 2 : ByteOrderMark.length(of: bytes)
        for byte in bytes[mark...] {
            switch byte {
            case 0, UInt8(ascii: "\r"), UInt8(ascii: "\""), UInt8(ascii: "'"): continue
            case UInt8(ascii: " "), UInt8(ascii: "\t"):
                // Skip blanks at the start of a line, and blanks that follow another blank.
                if let last = words.last, last != UInt8(ascii: " "), last != UInt8(ascii: "\n") {
                    words.append(UInt8(ascii: " "))
                }
            default:
                plain.append(byte)
                words.append(byte)
            }
        }
        self.plain = plain
        self.words = words
    }

    /// Whether a setting has a value in a line that is not a comment.
    ///
    /// - Parameter setting: the name of the setting, followed by the sign before the value.
    func hasValue(of setting: String) -> Bool {
        let bytes = setting.hasSuffix(" ") ? words : plain
        return bytes.withUnsafeBytes { text in
            var start = 0
            while let found = TokenScan.first(setting, in: text, from: start) {
                let end = found + setting.utf8.count
                if TokenScan.isWhole(text, found), TokenScan.isValue(text, end, of: setting) { return true }
                start = end
            }
            return false
        }
    }

    /// Returns the offset of the first occurrence of `setting` at or after the offset `start`; nil if there is none.
    static func first(_ setting: String, in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = text.baseAddress, let letter = setting.utf8.first else { return nil }
        let length = setting.utf8.count
        var place = start
        while place + length <= text.count {
            guard let found = memchr(base + place, Int32(letter), text.count - length + 1 - place) else { return nil }
            if memcmp(found, setting, length) == 0 { return base.distance(to: found) }
            place = base.distance(to: found) + 1
        }
        return nil
    }

    /// Whether a name begins at this offset, in a line that is not a comment.
    private static func isWhole(_ text: UnsafeRawBufferPointer, _ place: Int) -> Bool {
        let line = text[..<place].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        guard text[line] != UInt8(ascii: "#"), text[line] != UInt8(ascii: ";") else { return false }
        guard place > line, !text[line..<place].elementsEqual("export".utf8) else { return true }
        let before = text[place - 1]
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(before | 0x20) || before >= 0x80
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(before)
        return !isLetter && !isDigit && before != UInt8(ascii: "_") && before != UInt8(ascii: "-")
    }

    /// Whether the text at this offset is the value of a token.
    ///
    /// `null`, `~`, and text that begins with `{`, `[`, `<`, `>` or `$`, such as a placeholder, are no values. The
    /// prefix `!!null`, which glab writes before its tokens, is skipped.
    private static func isValue(_ text: UnsafeRawBufferPointer, _ place: Int, of setting: String) -> Bool {
        // The first token of a map or of a table may be in the next line.
        let isTable = setting.hasSuffix("{") || setting.hasSuffix("]")
        let start = isTable ? text[place...].drop { $0 == UInt8(ascii: "\n") } : text[place...]
        var value = start.prefix { !",}]\n".utf8.contains($0) }
        if value.starts(with: "!!null".utf8) { value = value.dropFirst("!!null".utf8.count) }
        guard let first = value.first, !"{$<>[".utf8.contains(first) else { return false }
        return !value.elementsEqual("null".utf8) && !value.elementsEqual("~".utf8)
    }
}
