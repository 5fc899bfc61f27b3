import CSystemdBus
import Glibc
import TokenKeepCore

/// A received message. Reads its arguments in order, and checks each of them.
///
/// Used by the bus thread alone. The message's memory is cleared when it is freed.
final class BusMessage {
    let raw: OpaquePointer
    /// The message's share of its client's count of unanswered bytes; released when the message is answered.
    var holding: Holding?
    /// The call's place in the order of its client's calls, until the call is answered.
    var turn: CallTurn?
    /// The number of bytes read from the message so far, plus 512 for the message itself.
    private(set) var size = 512

    /// Keeps a message of sd-bus, and marks its memory as sensitive.
    init(_ raw: OpaquePointer) {
        self.raw = sd_bus_message_ref(raw)
        sd_bus_message_sensitive(raw)
    }

    deinit { sd_bus_message_unref(raw) }

    var sender: String { BusMessage.text(sd_bus_message_get_sender(raw)) }
    var path: String { BusMessage.text(sd_bus_message_get_path(raw)) }
    /// The interface of the called method; "" if the caller named none.
    var interface: String { BusMessage.text(sd_bus_message_get_interface(raw)) }
    var member: String { BusMessage.text(sd_bus_message_get_member(raw)) }

    static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// Throws unless the arguments have this signature.
    func expect(_ signature: String) throws(Refusal) {
        guard sd_bus_message_has_signature(raw, signature) > 0 else {
            let given = BusMessage.text(sd_bus_message_get_signature(raw, 1))
            throw .invalid("\(member) takes arguments of the signature \"\(signature)\", not \"\(given)\"")
        }
    }

    func string() throws(Refusal) -> String { try text("s") }
    func objectPath() throws(Refusal) -> String { try text("o") }

    private func text(_ type: Unicode.Scalar) throws(Refusal) -> String {
        var pointer: UnsafePointer<CChar>?
        try check(sd_bus_message_read_basic(raw, CChar(truncatingIfNeeded: type.value), &pointer))
        try count(pointer.map { strlen($0) } ?? 0)
        return BusMessage.text(pointer)
    }

    func bool() throws(Refusal) -> Bool {
        var value: Int32 = 0
        try check(sd_bus_message_read_basic(raw, BusMessage.type("b"), &value))
        return value != 0
    }

    func integer() throws(Refusal) -> Int32 {
        var value: Int32 = 0
        try check(sd_bus_message_read_basic(raw, BusMessage.type("i"), &value))
        return value
    }

    func long() throws(Refusal) -> UInt64 {
        var value: UInt64 = 0
        try check(sd_bus_message_read_basic(raw, BusMessage.type("t"), &value))
        return value
    }

    /// Reads a file descriptor, which the message owns and closes.
    func descriptor() throws(Refusal) -> Int32 {
        var value: Int32 = -1
        try check(sd_bus_message_read_basic(raw, BusMessage.type("h"), &value))
        return value
    }

    /// Reads an array of bytes. The pointer is valid while the message exists.
    func bytes() throws(Refusal) -> UnsafeRawBufferPointer {
        var start: UnsafeRawPointer?
        var count = 0
        try check(sd_bus_message_read_array(raw, BusMessage.type("y"), &start, &count))
        try self.count(count)
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Enters an array, calls `element` for each of its elements, and leaves the array.
    func array(_ contents: String, _ element: () throws(Refusal) -> Void) throws(Refusal) {
        try enter("a", contents)
        while sd_bus_message_at_end(raw, 0) == 0 { try element() }
        try leave()
    }

    func paths() throws(Refusal) -> [String] {
        var found: [String] = []
        try array("o") { () throws(Refusal) in found.append(try objectPath()) }
        return found
    }

    /// Reads `a{ss}`. If a name occurs twice, its last value counts.
    ///
    /// Throws if two names differ only in their Unicode spelling, because a dictionary would keep only one of them.
    func strings() throws(Refusal) -> [String: String] {
        var found: [String: String] = [:]
        try array("{ss}") { () throws(Refusal) in
            try enter("e", "ss")
            let name = try string()
            if let place = found.index(forKey: name), !found[place].key.hasBytes(of: name) {
                throw .invalid("two names of attributes are Unicode spellings of the same text")
            }
            found[name] = try string()
            try leave()
        }
        return found
    }

    /// Reads `a{sv}`: calls `value` with each entry's name and signature. `value` must read the entry's value.
    func properties(_ value: (String, String) throws(Refusal) -> Void) throws(Refusal) {
        try array("{sv}") { () throws(Refusal) in
            try enter("e", "sv")
            let name = try string()
            try variant { (signature) throws(Refusal) in try value(name, signature) }
            try leave()
        }
    }

    /// Enters a variant, calls `body` with its signature, and leaves the variant.
    func variant(_ body: (String) throws(Refusal) -> Void) throws(Refusal) {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        try check(sd_bus_message_peek_type(raw, &type, &contents))
        let signature = BusMessage.text(contents)
        try enter("v", signature)
        try body(signature)
        try leave()
    }

    func skip(_ signature: String) throws(Refusal) { try check(sd_bus_message_skip(raw, signature)) }

    func enter(_ type: Unicode.Scalar, _ contents: String) throws(Refusal) {
        try check(sd_bus_message_enter_container(raw, BusMessage.type(type), contents))
    }

    func leave() throws(Refusal) { try check(sd_bus_message_exit_container(raw)) }

    static func type(_ letter: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: letter.value) }

    /// Adds an argument's length in bytes to ``size``, plus 16 for its overhead, and throws beyond the limit.
    private func count(_ bytes: Int) throws(Refusal) {
        size += bytes + 16
        guard size <= Unanswered.limit else {
            throw .limit("the arguments of \(member) are longer than \(Unanswered.limit) bytes")
        }
    }

    private func check(_ result: Int32) throws(Refusal) {
        guard result >= 0 else { throw .invalid("the arguments of \(member) cannot be read") }
    }
}
