import CSystemdBus
import Glibc

/// A reply or signal that is being written. Its memory is cleared when it is freed.
///
/// A failed append sets ``isWhole`` to false, so that the caller checks for failures once, at the end.
final class OutgoingMessage {
    let raw: OpaquePointer
    /// Whether every append succeeded.
    private(set) var isWhole = true

    /// Takes ownership of a message of sd-bus, and marks its memory as sensitive.
    init(_ raw: OpaquePointer) {
        self.raw = raw
        sd_bus_message_sensitive(raw)
    }

    deinit { sd_bus_message_unref(raw) }

    func string(_ text: String) { text.withCString { append("s", $0) } }
    func path(_ text: String) { text.withCString { append("o", $0) } }

    func bool(_ value: Bool) {
        var number: Int32 = value ? 1 : 0
        append("b", &number)
    }

    func number(_ value: UInt64) {
        var value = value
        append("t", &value)
    }

    func number(_ value: UInt32) {
        var value = value
        append("u", &value)
    }

    func number(_ value: Int32) {
        var value = value
        append("i", &value)
    }

    func bytes(_ bytes: UnsafeRawBufferPointer) {
        note(sd_bus_message_append_array(raw, BusMessage.type("y"), bytes.baseAddress, bytes.count))
    }

    func bytes(_ bytes: [UInt8]) { bytes.withUnsafeBytes { self.bytes($0) } }

    func paths(_ paths: [String]) { array("o") { for path in paths { self.path(path) } } }

    func strings(_ strings: [String: String]) {
        array("{ss}") {
            for (name, value) in strings {
                container("e", "ss") {
                    string(name)
                    string(value)
                }
            }
        }
    }

    func array(_ contents: String, _ body: () -> Void) { container("a", contents, body) }
    func variant(_ contents: String, _ body: () -> Void) { container("v", contents, body) }
    func structure(_ contents: String, _ body: () -> Void) { container("r", contents, body) }

    /// Appends an entry of `a{sv}`.
    func entry(_ name: String, _ contents: String, _ body: () -> Void) {
        container("e", "sv") {
            string(name)
            variant(contents, body)
        }
    }

    func container(_ type: Unicode.Scalar, _ contents: String, _ body: () -> Void) {
        note(sd_bus_message_open_container(raw, BusMessage.type(type), contents))
        body()
        note(sd_bus_message_close_container(raw))
    }

    /// Notes that a part cannot be written.
    func fail() { isWhole = false }

    private func append(_ type: Unicode.Scalar, _ value: UnsafeRawPointer) {
        note(sd_bus_message_append_basic(raw, BusMessage.type(type), value))
    }

    private func note(_ result: Int32) { if result < 0 { isWhole = false } }
}
