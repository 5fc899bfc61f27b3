import TokenKeepCore

/// A JSON value whose parts are ranges of the source's bytes (RFC 8259), at most 32 levels deep. Strings are decoded on
/// demand.
indirect enum JSONTree {
    case object([(key: String, start: Int, value: JSONTree)], Range<Int>)
    case array([JSONTree], Range<Int>)
    /// The range of bytes between the quotation marks.
    case string(Range<Int>)
    case other(Range<Int>)

    /// Parses a text, which may begin with a byte order mark; nil for malformed JSON.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> JSONTree? {
        var parser = JSONTreeParser(bytes: bytes)
        parser.position = ByteOrderMark.length(of: bytes)
        guard let tree = parser.value(depth: 0) else { return nil }
        parser.skipSpace()
        return parser.position == bytes.count ? tree : nil
    }

    /// The value of a member; nil if this is not an object, or does not contain the member exactly once.
    subscript(key: String) -> JSONTree? {
        guard case .object(let members, _) = self else { return nil }
        let values = members.filter { $0.key == key }
        return values.count == 1 ? values[0].value : nil
    }

    /// Whether the value is an object with two members of the same name. Programs differ in which of the two they read.
    var hasRepeatedMember: Bool {
        guard case .object(let members, _) = self else { return false }
        return Set(members.map(\.key)).count < members.count
    }

    /// Whether the value is absent or null.
    static func isNull(_ value: JSONTree?, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard case .other(let range)? = value else { return value == nil }
        return bytes[range].elementsEqual("null".utf8)
    }

    /// The object with the names of its members in lower case; any other value unchanged.
    var withSmallNames: JSONTree {
        guard case .object(let members, let range) = self else { return self }
        return .object(members.map { ($0.key.lowercased(), $0.start, $0.value) }, range)
    }

    var elements: [JSONTree]? { if case .array(let elements, _) = self { elements } else { nil } }

    /// The range of the value's bytes in the source.
    var range: Range<Int> {
        switch self {
        case .object(_, let range), .array(_, let range), .other(let range): range
        case .string(let range): range.lowerBound - 1..<range.upperBound + 1
        }
    }

    /// Decodes a string into guarded memory; nil if the value is not a string, or if an escape is malformed.
    func secret(in bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> SecretBytes? {
        guard case .string(let range) = self else { return nil }
        var isSound = true
        let secret = try SecretBytes(capacity: range.count) { buffer in
            var count = 0
            isSound = JSONTreeParser.decode(bytes[range]) { byte in
                buffer[count] = byte
                count += 1
            }
            return count
        }
        return isSound ? secret : nil
    }

    /// Decodes a string; nil if the value is not a string, or if an escape is malformed.
    func text(in bytes: UnsafeRawBufferPointer) -> String? { (try? secret(in: bytes))?.utf8String }
}

/// Parses a JSON text into a ``JSONTree``.
struct JSONTreeParser {
    let bytes: UnsafeRawBufferPointer
    fileprivate(set) var position = 0

    fileprivate init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    fileprivate mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    /// Skips white space and then `character`. Returns false if another character follows the white space.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    fileprivate mutating func value(depth: Int) -> JSONTree? {
        skipSpace()
        guard depth < 32, position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return object(depth)
        case UInt8(ascii: "["): return array(depth)
        case UInt8(ascii: "\""): return string().map(JSONTree.string)
        default: return word()
        }
    }

    private mutating func object(_ depth: Int) -> JSONTree? {
        let start = position
        position += 1
        var members: [(key: String, start: Int, value: JSONTree)] = []
        if skip("}") { return .object([], start..<position) }
        repeat {
            skipSpace()
            let place = position
            guard let key = string().flatMap({ JSONTree.string($0).text(in: bytes) }), skip(":"),
                let value = value(depth: depth + 1)
            else { return nil }
            members.append((key, place, value))
        } while skip(",")
        return skip("}") ? .object(members, start..<position) : nil
    }

    private mutating func array(_ depth: Int) -> JSONTree? {
        let start = position
        position += 1
        var elements: [JSONTree] = []
        if skip("]") { return .array([], start..<position) }
        repeat {
            guard let element = value(depth: depth + 1) else { return nil }
            elements.append(element)
        } while skip(",")
        return skip("]") ? .array(elements, start..<position) : nil
    }

    /// Parses a string. Returns the range between its quotation marks; nil if the string is malformed.
    private mutating func string() -> Range<Int>? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        let start = position + 1
        position = start
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] >= 0x20 else { return nil }
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { return nil }
        position += 1
        return start..<position - 1
    }

    /// Parses a number, true, false or null. Returns only the range, and does not check the spelling.
    private mutating func word() -> JSONTree? {
        let start = position
        while position < bytes.count, isPartOfWord(bytes[position]) { position += 1 }
        return position > start ? .other(start..<position) : nil
    }

    private func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    /// Decodes a string, and passes its bytes to `put`. Returns false if an escape is malformed.
    static func decode(_ text: Slice<UnsafeRawBufferPointer>, _ put: (UInt8) -> Void) -> Bool {
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                put(byte)
                continue
            }
            guard let escape = rest.popFirst() else { return false }
            if escape == UInt8(ascii: "u") {
                guard let scalar = scalar(&rest), let encoded = UTF8.encode(scalar) else { return false }
                for byte in encoded { put(byte) }
            } else {
                guard let plain = plain(escape) else { return false }
                put(plain)
            }
        }
        return true
    }

    private static func plain(_ escape: UInt8) -> UInt8? {
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): escape
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    private static func scalar(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let second = unit(&rest),
            (0xDC00..<0xE000).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    private static func unit(_ rest: inout Slice<UnsafeRawBufferPointer>) -> UInt32? {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = rest.popFirst(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                return nil
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }
}
