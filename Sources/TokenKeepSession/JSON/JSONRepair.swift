import CJansson
package import TokenKeepCore

/// Rewrites a server's JSON object so that jansson accepts it. Without this, jansson would refuse a whole answer
/// because of one invalid value.
///
/// Names and values that jansson accepts are unchanged. The rest is changed as follows:
/// - an unpaired surrogate, an invalid escape and a NUL in a name become U+FFFD, which no token contains;
/// - control characters become escapes;
/// - a number that is too large, or that is not written as JSON requires, becomes a string;
/// - any other word without quotes (such as `NaN`) becomes null, or a quoted name if a colon follows;
/// - an object or array nested deeper than ``deepest`` levels becomes null;
/// - a comma before the end of an object or array is removed, as is all text after the object.
package struct JSONRepair {
    private static let deepest = 256

    private let text: UnsafeRawBufferPointer
    /// The buffer for the result; nil to measure its length only.
    private let output: UnsafeMutableRawBufferPointer?
    private var length = 0
    private var position = 0
    private var depth = 0
    /// Whether a comma must be written before the next value.
    private var hasComma = false

    /// Returns the rewritten text; nil if the text does not begin with an object.
    package static func repaired(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> SecretBytes? {
        try AnswerText.utf8(bytes).withUnsafeBytes { text throws(TokenKeepError) -> SecretBytes? in
            guard text.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return nil }
            var measured = JSONRepair(text, output: nil)
            measured.run()
            return try SecretBytes(count: measured.length) { output in
                var writing = JSONRepair(text, output: output)
                writing.run()
            }
        }
    }

    private init(_ text: UnsafeRawBufferPointer, output: UnsafeMutableRawBufferPointer?) {
        (self.text, self.output) = (text, output)
    }

    private mutating func run() {
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                hasComma = false
                put(byte)
                depth -= 1
                position += 1
                if depth <= 0 { return }
            case UInt8(ascii: ","):
                hasComma = true
                position += 1
            case UInt8(ascii: "\""): string()
            case UInt8(ascii: ":"), 0...0x20:
                put(max(byte, 0x20))
                position += 1
            default: word()
            }
        }
    }

    private mutating func put(_ byte: UInt8) {
        guard depth <= JSONRepair.deepest else { return }
        output?[length] = byte
        length += 1
    }

    private mutating func put(_ bytes: some Sequence<UInt8>) { for byte in bytes { put(byte) } }

    private mutating func putComma() {
        if hasComma { put(UInt8(ascii: ",")) }
        hasComma = false
    }

    private mutating func open(_ byte: UInt8) {
        putComma()
        if depth == JSONRepair.deepest { put("null".utf8) }
        depth += 1
        put(byte)
        position += 1
    }

    // MARK: Strings

    private mutating func string() {
        let end = endOfString()
        let isName = isColon(after: end + 1)
        putComma()
        put(UInt8(ascii: "\""))
        position += 1
        while position < end { character(end, isName: isName) }
        // If the text ends within the string, no closing quote is added, so that jansson refuses the incomplete text.
        if end < text.count { put(UInt8(ascii: "\"")) }
        position = end + 1
    }

    private func endOfString() -> Int {
        var index = position + 1
        while index < text.count, text[index] != UInt8(ascii: "\"") {
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index, text.count)
    }

    private func isColon(after start: Int) -> Bool {
        guard start < text.count else { return false }
        return text[start...].first { $0 > 0x20 } == UInt8(ascii: ":")
    }

    private mutating func character(_ end: Int, isName: Bool) {
        let byte = text[position]
        if byte == UInt8(ascii: "\\") { return escape(end, isName: isName) }
        position += 1
        switch byte {
        case 0 where isName: put(AnswerText.unreadable)
        case ..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            put("\\u00".utf8)
            put([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        default: put(byte)
        }
    }

    private mutating func escape(_ end: Int, isName: Bool) {
        let next = position + 1 < end ? text[position + 1] : 0
        var length = 2
        var isReadable = "\"\\/bfnrt".utf8.contains(next)
        if let unit = codeUnit(at: position, end) {
            switch unit {
            case 0xD800...0xDBFF:
                isReadable = codeUnit(at: position + 6, end).map { (0xDC00...0xDFFF).contains($0) } ?? false
                length = isReadable ? 12 : 6
            default:
                isReadable = !(0xDC00...0xDFFF).contains(unit) && !(unit == 0 && isName)
                length = 6
            }
        } else if !isReadable {
            length = 1
        }
        if isReadable { put(text[position..<position + length]) } else { put(AnswerText.unreadable) }
        position += length
    }

    /// The code unit of an escape `\uXXXX` at `start`; nil if there is no such escape.
    private func codeUnit(at start: Int, _ end: Int) -> UInt16? {
        guard start + 6 <= end, text[start] == UInt8(ascii: "\\"), text[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for byte in text[start + 2..<start + 6] {
            guard let digit = HexadecimalDigit.value(byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    // MARK: Numbers and other words

    private mutating func word() {
        let start = position
        while position < text.count, !JSONRepair.endsWord(text[position]) { position += 1 }
        let word = text[start..<position]
        putComma()
        guard depth <= JSONRepair.deepest else { return }
        let isName = isColon(after: position)
        if isName || word.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }), !isScalar(word, isName: isName) {
            put(UInt8(ascii: "\""))
            for byte in word {
                if byte == UInt8(ascii: "\\") { put(byte) }
                put(byte)
            }
            put(UInt8(ascii: "\""))
        } else if isScalar(word, isName: isName) {
            put(word)
        } else {
            put("null".utf8)
        }
    }

    private static func endsWord(_ byte: UInt8) -> Bool { byte <= 0x20 || ",:{}[]\"".utf8.contains(byte) }

    /// Whether jansson accepts a word as a value.
    private func isScalar(_ word: Slice<UnsafeRawBufferPointer>, isName: Bool) -> Bool {
        guard !isName, let base = UnsafeRawBufferPointer(rebasing: word).baseAddress else { return false }
        return tokenkeep_json_is_scalar(base, word.count) != 0
    }
}
