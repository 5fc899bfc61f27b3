import CJansson
import TokenKeepCore

/// JSON of a registry, which nobody vouches for. Read only.
final class WireValue {
    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { tokenkeep_json_free(pointer) }

    /// Parses one JSON object; nil for anything else.
    init?(parsing bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, let pointer = tokenkeep_json_parse_answer(base, bytes.count) else {
            return nil
        }
        self.pointer = pointer
        guard tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_OBJECT) else { return nil }
    }

    private init?(retaining pointer: OpaquePointer?) {
        guard let pointer, let retained = tokenkeep_json_retain(pointer) else { return nil }
        self.pointer = retained
    }

    /// A member of an object; nil if there is none.
    subscript(name: String) -> WireValue? { WireValue(retaining: tokenkeep_json_member(pointer, name)) }

    /// The elements of an array; none for another type.
    var elements: [WireValue] {
        var elements: [WireValue] = []
        while let element = WireValue(retaining: tokenkeep_json_element(pointer, elements.count)) {
            elements.append(element)
        }
        return elements
    }

    /// The bytes of a string; nil for another type.
    func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        var length = 0
        guard tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_STRING),
            let text = tokenkeep_json_text(pointer, &length)
        else { return nil }
        return body(UnsafeRawBufferPointer(start: text, count: length))
    }

    var text: String? { withText { String(decoding: $0, as: UTF8.self) } }

    var isTrue: Bool { tokenkeep_json_is_true(pointer) != 0 }

    /// A whole number, or the number that a string is: the gateway writes 64 bits so.
    var integer: Int64? {
        if tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_INTEGER) { return tokenkeep_json_number(pointer) }
        return text.flatMap { Int64($0) }
    }

    /// An unsigned number in a string.
    var unsigned: UInt64? { text.flatMap { UInt64($0) } ?? integer.flatMap { UInt64(exactly: $0) } }

    /// The bytes of a string in base64; nil for anything else.
    var bytes: [UInt8]? { withText { Base64.bytes($0) } ?? nil }
}
