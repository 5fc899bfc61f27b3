import Glibc
package import TokenKeepCore

/// Finds the address of the user's session bus without GLib, so that GLib is not loaded if there is no bus.
package enum BusAddress {
    /// The address in `DBUS_SESSION_BUS_ADDRESS`; if the variable is not set, the socket `bus` in the runtime
    /// directory.
    ///
    /// - Parameter parent: the directory that contains the runtime directories of all users.
    /// - Throws: ``Status/unavailable``, as an absence, if there is no address or the environment cannot be trusted.
    package static func find(below parent: String = "/run/user") throws(TokenKeepError) -> String {
        guard !Privileges.areRaised else {
            throw absent("a program with raised privileges does not follow its environment to a message bus")
        }
        if let address = value("DBUS_SESSION_BUS_ADDRESS") {
            guard let sockets = sockets(of: address) else {
                throw absent("there is no session bus, and none is started for the purpose")
            }
            return sockets
        }
        guard let directory = RuntimeDirectory.find(below: parent) else {
            throw absent("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        }
        let socket = directory + "/bus"
        var status = stat()
        guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == getuid() else {
            throw absent("there is no session bus at \(socket)")
        }
        return "unix:path=" + escaped(socket)
    }

    /// The entries of an address that are sockets; nil if there are none. Other kinds of entries may start programs.
    static func sockets(of address: String) -> String? {
        let entries = address.split(separator: ";").filter { $0.hasPrefix("unix:") || $0.hasPrefix("tcp:") }
        return entries.isEmpty ? nil : entries.joined(separator: ";")
    }

    /// Escapes a value for an address: every byte as %xx, except the bytes that the D-Bus specification exempts.
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
