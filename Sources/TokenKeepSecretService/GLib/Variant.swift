internal import CLibsecret
import TokenKeepCore

/// A D-Bus value. Owns its GVariant. A value never changes, so any thread may read it.
final class Variant: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership of a full or floating reference; nil for NULL.
    init?(taking pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = glib.pointee.g_variant_take_ref(pointer) ?? pointer
    }

    private init(new pointer: OpaquePointer?) {
        // GLib's constructors never return NULL, because they end the process if memory is exhausted.
        self.pointer = glib.pointee.g_variant_take_ref(pointer).unsafelyUnwrapped
    }

    deinit { glib.pointee.g_variant_unref(pointer) }

    static func string(_ text: String) -> Variant { Variant(new: glib.pointee.g_variant_new_string(text)) }
    static func boolean(_ value: Bool) -> Variant { Variant(new: glib.pointee.g_variant_new_boolean(value ? 1 : 0)) }
    static func number(_ value: UInt32) -> Variant { Variant(new: glib.pointee.g_variant_new_uint32(value)) }
    static func variant(_ value: Variant) -> Variant { Variant(new: glib.pointee.g_variant_new_variant(value.pointer)) }

    static func path(_ path: ObjectPath) -> Variant {
        Variant(new: glib.pointee.g_variant_new_object_path(path.text))
    }

    static func tuple(_ children: [Variant]) -> Variant {
        let pointers = children.map { Optional($0.pointer) }
        return Variant(
            new: pointers.withUnsafeBufferPointer {
                glib.pointee.g_variant_new_tuple($0.baseAddress, $0.count)
            })
    }

    /// A value of the D-Bus type `ao`.
    static func paths(_ paths: [ObjectPath]) -> Variant { array(of: "o", paths.map { .path($0) }) }

    /// A value of the D-Bus type `a{ss}`.
    static func strings(_ pairs: some Sequence<(key: String, value: String)>) -> Variant {
        array(of: "{ss}", pairs.map { entry(.string($0.key), .string($0.value)) })
    }

    /// A value of the D-Bus type `a{sv}`.
    static func properties(_ pairs: [(String, Variant)]) -> Variant {
        array(of: "{sv}", pairs.map { entry(.string($0.0), .variant($0.1)) })
    }

    private static func entry(_ key: Variant, _ value: Variant) -> Variant {
        Variant(new: glib.pointee.g_variant_new_dict_entry(key.pointer, value.pointer))
    }

    private static func array(of type: String, _ children: [Variant]) -> Variant {
        let pointers = children.map { Optional($0.pointer) }
        return type.withCString { type in
            Variant(
                new: pointers.withUnsafeBufferPointer {
                    glib.pointee.g_variant_new_array(OpaquePointer(type), $0.baseAddress, $0.count)
                })
        }
    }

    /// Whether the value has this D-Bus type. Must be called before another program's value is read.
    func isOf(type: String) -> Bool {
        type.withCString { glib.pointee.g_variant_is_of_type(pointer, OpaquePointer($0)) != 0 }
    }

    var count: Int { glib.pointee.g_variant_n_children(pointer) }

    /// A child of a container. `index` must be less than ``count``.
    subscript(index: Int) -> Variant {
        Variant(new: glib.pointee.g_variant_get_child_value(pointer, index))
    }

    var children: [Variant] { (0..<count).map { self[$0] } }

    /// The text of a string or an object path; nil for any other value.
    var text: String? {
        guard isOf(type: "s") || isOf(type: "o") else { return nil }
        var length = 0
        guard let start = glib.pointee.g_variant_get_string(pointer, &length) else { return nil }
        return String(validating: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }

    var boolean: Bool? { isOf(type: "b") ? glib.pointee.g_variant_get_boolean(pointer) != 0 : nil }
    var number: UInt64? { isOf(type: "t") ? glib.pointee.g_variant_get_uint64(pointer) : nil }
    var shortNumber: UInt32? { isOf(type: "u") ? glib.pointee.g_variant_get_uint32(pointer) : nil }

    /// The value inside a variant (D-Bus type `v`); nil for any other type.
    var content: Variant? {
        isOf(type: "v") ? Variant(new: glib.pointee.g_variant_get_variant(pointer)) : nil
    }
}

/// A valid object path on the bus.
struct ObjectPath: Hashable, Sendable, Comparable {
    let text: String

    /// Checks a path; nil if it is invalid.
    init?(_ text: String) {
        guard glib.pointee.g_variant_is_object_path(text) != 0 else { return nil }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    static let bus = ObjectPath(unchecked: "/org/freedesktop/DBus")
    static let service = ObjectPath(unchecked: "/org/freedesktop/secrets")
    static let defaultCollection = ObjectPath(unchecked: "/org/freedesktop/secrets/aliases/default")

    /// Whether the path is "/", which means "no object" in an answer.
    var isNone: Bool { text == "/" }

    static func < (left: ObjectPath, right: ObjectPath) -> Bool { left.text < right.text }
}
