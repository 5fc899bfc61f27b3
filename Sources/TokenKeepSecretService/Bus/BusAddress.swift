import Glibc
import TokenKeepCore

/// Finds the user's session bus. Does not use GLib, which is never loaded if there is no bus.
enum BusAddress {
    /// The address from the environment: `DBUS_SESSION_BUS_ADDRESS`, else the socket `bus` in `XDG_RUNTIME_DIR`.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, if there is no address or the environment cannot be trusted.
    static func find() throws(TokenKeepError) -> String {
        guard !Privileges.areRaised else {
            throw absent("a program with raised privileges does not follow its environment to a message bus")
        }
        if let address = value("DBUS_SESSION_BUS_ADDRESS") {
            guard let sockets = sockets(of: address) else {
                throw absent("there is no session bus, and none is started for the purpose")
            }
            return sockets
        }
        guard let directory = value("XDG_RUNTIME_DIR") else {
            throw absent("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        }
        let socket = directory + "/bus"
        var status = stat()
        guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == getuid() else {
            throw absent("there is no session bus at \(socket)")
        }
        return "unix:path=" + escaped(socket)
    }

    /// The entries of an address that name a socket; nil if there is none. Other entries may start programs.
    static func sockets(of address: String) -> String? {
        let entries = address.split(separator: ";").filter { $0.hasPrefix("unix:") || $0.hasPrefix("tcp:") }
        return entries.isEmpty ? nil : entries.joined(separator: ";")
    }

    /// A value escaped for an address: every byte as %xx, except those that the D-Bus specification allows unescaped.
    static func escaped(_ value: String) -> String {
        var escaped = ""
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        return escaped
    }

    private static func value(_ name: String) -> String? {
        guard let text = getenv(name), text.pointee != 0 else { return nil }
        return String(cString: text)
    }

    private static func absent(_ message: String) -> TokenKeepError {
        TokenKeepError(.unavailable, message, isAbsence: true)
    }
}
