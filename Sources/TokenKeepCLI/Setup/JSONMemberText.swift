/// Sets or removes one string member in the text of a JSON object, and leaves every other byte unchanged.
///
/// The text must be a valid JSON object.
struct JSONMemberText {
    private let bytes: [UInt8]
    private let name: String
    /// The range from the opening quote of the name to the end of the value; nil if there is no such member.
    private let place: Range<Int>?
    /// The index of the value's first byte.
    private let valueStart: Int
    /// The index of the first byte after the object's opening brace.
    private let start: Int
    private let isEmpty: Bool

    /// Finds the member `name` of the object.
    init(_ text: String, _ name: String) {
        bytes = Array(text.utf8)
        self.name = name
        start = (bytes.firstIndex(of: UInt8(ascii: "{")) ?? -1) + 1
        isEmpty = bytes[start...].first { !JSONMemberText.isSpace($0) } == UInt8(ascii: "}")
        let found = JSONMemberText.place(of: name, in: bytes, from: start)
        place = found?.place
        valueStart = found?.valueStart ?? start
    }

    /// Whether the object has the member, and the member's name is written without escapes.
    var isPresent: Bool { place != nil }

    /// Returns the text with `value` as the string value of the member. `value` must contain no character that JSON
    /// escapes.
    func setting(_ value: String) -> String {
        guard let place else {
            return text(bytes[..<start], "\n\t\"\(name)\": \"\(value)\"\(isEmpty ? "" : ",")", bytes[start...])
        }
        return text(bytes[..<valueStart], "\"\(value)\"", bytes[place.upperBound...])
    }

    /// Returns the text without the member, its comma and the white space before the member.
    func removing() -> String {
        guard let place else { return text(bytes[...], "", []) }
        var first = place.lowerBound
        while first > start, JSONMemberText.isSpace(bytes[first - 1]) { first -= 1 }
        var last = place.upperBound
        let next = bytes[last...].firstIndex { !JSONMemberText.isSpace($0) } ?? last
        if next < bytes.count, bytes[next] == UInt8(ascii: ",") {
            last = next + 1
        } else if first > start, bytes[first - 1] == UInt8(ascii: ",") {
            first -= 1
        }
        return text(bytes[..<first], "", bytes[last...])
    }

    private func text(_ before: ArraySlice<UInt8>, _ middle: String, _ after: ArraySlice<UInt8>) -> String {
        String(decoding: before + Array(middle.utf8) + after, as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private static func place(
        of name: String, in bytes: [UInt8], from start: Int
    ) -> (place: Range<Int>, valueStart: Int)? {
        let quoted = Array("\"\(name)\"".utf8)
        var depth = 1
        var position = start
        while position < bytes.count, depth > 0 {
            switch bytes[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                let end = endOfString(bytes, from: position)
                let colon = bytes[end...].firstIndex { !isSpace($0) } ?? end
                if depth == 1, bytes[position..<end].elementsEqual(quoted), colon < bytes.count,
                    bytes[colon] == UInt8(ascii: ":"),
                    let value = bytes[(colon + 1)...].firstIndex(of: UInt8(ascii: "\""))
                {
                    return (position..<endOfString(bytes, from: value), value)
                }
                position = end - 1
            default: break
            }
            position += 1
        }
        return nil
    }

    /// The index after the closing quote of the string that begins at `start`.
    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }
}
