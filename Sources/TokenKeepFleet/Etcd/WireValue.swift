import CJansson
import TokenKeepCore

/// A JSON value of an untrusted registry. Read-only.
final class WireValue {
    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { tokenkeep_json_free(pointer) }

    /// Parses one JSON object; nil if the bytes are anything else.
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

    /// The member with this name; nil if there is none or the value is not an object.
    subscript(name: String) -> WireValue? { WireValue(retaining: tokenkeep_json_member(pointer, name)) }

    /// The elements of an array; empty if the value is not an array.
    var elements: [WireValue] {
        var elements: [WireValue] = []
        while let element = WireValue(retaining: tokenkeep_json_element(pointer, elements.count)) {
            elements.append(element)
        }
        return elements
    }

    /// Calls `body` with the bytes of a string; nil if the value is not a string.
    func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        var length = 0
        guard tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_STRING),
            let text = tokenkeep_json_text(pointer, &length)
        else { return nil }
        return body(UnsafeRawBufferPointer(start: text, count: length))
    }

    var text: String? { withText { String(decoding: $0, as: UTF8.self) } }

    var isTrue: Bool { tokenkeep_json_is_true(pointer) != 0 }

    /// An integer, or a string that contains an integer: the gateway writes 64-bit integers as strings.
    var integer: Int64? {
        if tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_INTEGER) { return tokenkeep_json_number(pointer) }
        return text.flatMap { Int64($0) }
    }

    /// An unsigned integer, or a string that contains one.
    var unsigned: UInt64? { text.flatMap { UInt64($0) } ?? integer.flatMap { UInt64(exactly: $0) } }

    /// The decoded bytes of a base64 string; nil if the value is anything else.
    var bytes: [UInt8]? { withText { Base64.bytes($0) } ?? nil }
}
