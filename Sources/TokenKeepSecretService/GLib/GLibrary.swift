internal import CLibsecret
import Glibc
import TokenKeepCore

/// The functions of libsecret and GLib. Call them only after ``GLibrary/load()``.
nonisolated(unsafe) let glib: UnsafePointer<tokenkeep_libsecret> = tokenkeep_libsecret_table()

/// Loads libsecret and GLib on first use, once per process.
enum GLibrary {
    private static let problem: String? = {
        if let problem = tokenkeep_libsecret_load() { return String(cString: problem) }
        keepSignalHandler()
        return nil
    }()

    /// Initialises GLib's socket class now and restores the program's handler of SIGPIPE.
    ///
    /// On its first use the class ignores SIGPIPE for the whole process, although it sends without that signal.
    private static func keepSignalHandler() {
        var handler = sigaction()
        guard sigaction(SIGPIPE, nil, &handler) == 0 else { return }
        _ = glib.pointee.g_type_class_ref(glib.pointee.g_socket_get_type())  // never released
        sigaction(SIGPIPE, &handler, nil)
    }

    /// Loads the libraries.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, if a library is not installed or too old.
    static func load() throws(TokenKeepError) {
        if let problem {
            throw TokenKeepError(.unavailable, problem, hint: "install the package libsecret-1-0", isAbsence: true)
        }
    }

    /// Frees an error of GLib without reading its message. The message may come from a service, which can echo a
    /// secret.
    static func drop(_ error: UnsafeMutablePointer<GError>?) {
        if let error { glib.pointee.g_error_free(error) }
    }

    /// A foreign text without control characters, cut to the length of a line in a message.
    static func printable(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let scalars = String(cString: text).unicodeScalars.prefix(200)
        return String(String.UnicodeScalarView(scalars.filter { $0.properties.generalCategory != .control }))
    }
}
