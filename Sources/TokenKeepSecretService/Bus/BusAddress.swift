internal import CLibsecret
import CSystemShims
import Glibc
import TokenKeepCore

/// Where the user's session bus is.
enum BusAddress {
    /// The address by the environment: `DBUS_SESSION_BUS_ADDRESS`, else the socket `bus` in `XDG_RUNTIME_DIR`.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, where there is none or the environment cannot be trusted.
    static func find() throws(TokenKeepError) -> String {
        guard tokenkeep_is_secure_execution() == 0, getuid() == geteuid() else {
            throw absent("a program with raised privileges does not follow its environment to a message bus")
        }
        if let address = value("DBUS_SESSION_BUS_ADDRESS") {
            guard !address.hasPrefix("autolaunch:") else {
                throw absent("there is no session bus, and none is started for the purpose")
            }
            return address
        }
        guard let directory = value("XDG_RUNTIME_DIR") else {
            throw absent("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        }
        let socket = directory + "/bus"
        var status = stat()
        guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == getuid(),
            let escaped = glib.pointee.g_dbus_address_escape_value(socket)
        else {
            throw absent("there is no session bus at \(socket)")
        }
        defer { glib.pointee.g_free(UnsafeMutableRawPointer(escaped)) }
        return "unix:path=" + String(cString: escaped)
    }

    private static func value(_ name: String) -> String? {
        guard let text = getenv(name), text.pointee != 0 else { return nil }
        return String(cString: text)
    }

    private static func absent(_ message: String) -> TokenKeepError {
        TokenKeepError(.unavailable, message, isAbsence: true)
    }
}
