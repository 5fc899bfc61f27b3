import CJansson
package import TokenKeepCore

/// A JSON value that may contain secrets. Its memory is wiped when it is freed. Not safe to use from two threads at
/// once.
package final class JSONValue {
    /// The maximum length of a text to be parsed, in bytes.
    package static let maximumLength = 262_144

    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { tokenkeep_json_free(pointer) }

    /// Parses one JSON object; nil if the text is no valid object, has a duplicate member, or is too long.
    package init?(parsing bytes: UnsafeRawBufferPointer, atMost longest: Int = JSONValue.maximumLength) {
        guard bytes.count <= longest, let base = bytes.baseAddress,
            let pointer = tokenkeep_json_parse(base, bytes.count)
        else { return nil }
        self.pointer = pointer
        guard isObject else { return nil }
    }

    /// Parses a server's answer leniently, as a JSON object or a form (docs/sessions.md, "How answers are read"); nil
    /// if the text is neither, or too long.
    package static func answer(_ bytes: UnsafeRawBufferPointer) -> JSONValue? {
        guard bytes.count <= maximumLength else { return nil }
        return answeredObject(bytes) ?? (try? FormText.members(of: bytes)).flatMap { $0 }
    }

    /// Parses a server's answer leniently, as a JSON object only. For answers that may be cut off: an object without
    /// its end is refused, whereas a form that is cut off cannot be recognized.
    package static func answeredObject(_ bytes: UnsafeRawBufferPointer) -> JSONValue? {
        guard bytes.count <= maximumLength else { return nil }
        return object(at: AnswerText.withoutMark(bytes))
            ?? (try? JSONRepair.repaired(bytes))?.withUnsafeBytes { object(at: $0[...]) }
    }

    /// Parses the object at the beginning of a text; nil if jansson refuses it.
    private static func object(at text: Slice<UnsafeRawBufferPointer>) -> JSONValue? {
        guard let base = UnsafeRawBufferPointer(rebasing: text).baseAddress,
            let pointer = tokenkeep_json_parse_answer(base, text.count)
        else { return nil }
        let value = JSONValue(owning: pointer)
        return value.isObject ? value : nil
    }

    /// Creates an object without members.
    package static func object() throws(TokenKeepError) -> JSONValue {
        guard let pointer = tokenkeep_json_object() else { throw JSONValue.noMemory }
        return JSONValue(owning: pointer)
    }

    /// Creates an array without elements.
    package static func array() throws(TokenKeepError) -> JSONValue {
        guard let pointer = tokenkeep_json_array() else { throw JSONValue.noMemory }
        return JSONValue(owning: pointer)
    }

    /// Creates the value `true`.
    package static func `true`() throws(TokenKeepError) -> JSONValue {
        guard let pointer = tokenkeep_json_true() else { throw JSONValue.noMemory }
        return JSONValue(owning: pointer)
    }

    /// Appends a string to an array.
    package func append(_ secret: SecretBytes) throws(TokenKeepError) {
        let made = secret.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { tokenkeep_json_string($0.baseAddress, $0.count) }
        }
        guard let made else { throw TokenKeepError(.invalid, "a string of JSON is not UTF-8") }
        guard tokenkeep_json_append(pointer, made) != 0 else { throw JSONValue.noMemory }
    }

    package var isObject: Bool { tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_OBJECT) }
    package var isEmpty: Bool { tokenkeep_json_count(pointer) == 0 }

    /// The member with that name; nil if there is none.
    package subscript(name: String) -> JSONValue? {
        guard let member = tokenkeep_json_member(pointer, name), let retained = tokenkeep_json_retain(member) else {
            return nil
        }
        return JSONValue(owning: retained)
    }

    /// Calls `body` with the bytes of a string; nil for a value of another type.
    package func withText<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        var length = 0
        guard tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_STRING),
            let text = tokenkeep_json_text(pointer, &length)
        else { return nil }
        return try body(UnsafeRawBufferPointer(start: text, count: length))
    }

    /// The value of a string, for text that is no secret; nil for a value of another type.
    package var text: String? { withText { String(decoding: $0, as: UTF8.self) } }

    /// The value of a string, in guarded memory; nil for a value of another type.
    package func secret() throws(TokenKeepError) -> SecretBytes? {
        try withText { bytes throws(TokenKeepError) in try SecretBytes(copying: bytes) }
    }

    /// The strings in an array; other elements are left out. Empty if the value is no array.
    package var texts: [String] { elements.compactMap(\.text) }

    /// The strings and whole numbers in an array, as text; other elements are left out. Empty if the value is no array.
    package var words: [String] { elements.compactMap { $0.text ?? $0.integer.map(String.init) } }

    private var elements: [JSONValue] {
        var elements: [JSONValue] = []
        while let element = tokenkeep_json_element(pointer, elements.count),
            let retained = tokenkeep_json_retain(element)
        {
            elements.append(JSONValue(owning: retained))
        }
        return elements
    }

    /// Whether the value is `true`.
    package var isTrue: Bool { tokenkeep_json_is_true(pointer) != 0 }

    /// The value of a whole number; nil for a value of another type.
    package var integer: Int64? {
        tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_INTEGER) ? tokenkeep_json_number(pointer) : nil
    }

    /// Whether a member has no content: null, or an empty string.
    package var isBlank: Bool {
        tokenkeep_json_type(pointer) == Int32(TOKENKEEP_JSON_NULL) || withText { $0.isEmpty } == true
    }

    /// The value of a number of any kind, or of a string that contains a number; nil for another value.
    package var number: Double? {
        switch Int(tokenkeep_json_type(pointer)) {
        case TOKENKEEP_JSON_INTEGER, TOKENKEEP_JSON_REAL: return tokenkeep_json_real(pointer)
        default:
            guard let text, text.utf8.allSatisfy({ "0123456789+-.eE ".utf8.contains($0) }) else { return nil }
            return Double(text.filter { $0 != " " })
        }
    }

    package func set(_ name: String, _ value: JSONValue) throws(TokenKeepError) {
        try insert(name, tokenkeep_json_retain(value.pointer))
    }

    package func set(_ name: String, _ text: String) throws(TokenKeepError) {
        var text = text
        let made = text.withUTF8 { bytes in
            UnsafeRawBufferPointer(bytes).withMemoryRebound(to: CChar.self) {
                tokenkeep_json_string($0.baseAddress, $0.count)
            }
        }
        try insert(name, made)
    }

    package func set(_ name: String, _ secret: SecretBytes) throws(TokenKeepError) {
        let made = secret.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { tokenkeep_json_string($0.baseAddress, $0.count) }
        }
        try insert(name, made)
    }

    package func set(_ name: String, _ number: Int64) throws(TokenKeepError) {
        try insert(name, tokenkeep_json_integer(number))
    }

    package func remove(_ name: String) { tokenkeep_json_remove(pointer, name) }

    /// The names of an object's members.
    package var names: [String] {
        var names: [String] = []
        withUnsafeMutablePointer(to: &names) { names in
            tokenkeep_json_each(
                pointer,
                { name, _, data in
                    guard let name, let text = String(validatingCString: name) else { return }
                    data?.assumingMemoryBound(to: [String].self).pointee.append(text)
                }, names)
        }
        return names
    }

    /// The value as one line of JSON, in guarded memory.
    package func serialized() throws(TokenKeepError) -> SecretBytes {
        let length = tokenkeep_json_write(pointer, nil, 0)
        guard length > 0 else { throw JSONValue.noMemory }
        return try SecretBytes(count: length) { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                _ = tokenkeep_json_write(pointer, bytes.baseAddress, bytes.count)
            }
        }
    }

    /// Sets a member to `value`, and takes ownership of `value`. Throws ``Status/invalid`` if `value` is nil, because
    /// jansson makes no string of bytes that are not UTF-8.
    private func insert(_ name: String, _ value: OpaquePointer?) throws(TokenKeepError) {
        guard let value else { throw TokenKeepError(.invalid, "the member \(name) is not UTF-8") }
        guard tokenkeep_json_set(pointer, name, value) != 0 else { throw JSONValue.noMemory }
    }

    private static let noMemory = TokenKeepError.shortage("there is no memory for a JSON value")
}
