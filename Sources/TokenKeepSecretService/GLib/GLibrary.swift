internal import CLibsecret
import Glibc
import TokenKeepCore

/// The functions of libsecret and GLib; to be called only after ``GLibrary/load()``.
nonisolated(unsafe) let glib: UnsafePointer<tokenkeep_libsecret> = tokenkeep_libsecret_table()

/// Loads libsecret and GLib on first use, once per process.
enum GLibrary {
    private static let problem: String? = {
        if let problem = tokenkeep_libsecret_load() { return String(cString: problem) }
        keepSignalHandler()
        return nil
    }()

    /// GLib's class of sockets ignores SIGPIPE for the whole process when it is first used, though it sends without
    /// that signal. It is made to do so now, and what the program had set is put back.
    private static func keepSignalHandler() {
        var handler = sigaction()
        guard sigaction(SIGPIPE, nil, &handler) == 0 else { return }
        _ = glib.pointee.g_type_class_ref(glib.pointee.g_socket_get_type())  // kept: it must not be made again
        sigaction(SIGPIPE, &handler, nil)
    }

    /// Loads the libraries.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, where one is not installed or too old.
    static func load() throws(TokenKeepError) {
        if let problem {
            throw TokenKeepError(.unavailable, problem, hint: "install the package libsecret-1-0", isAbsence: true)
        }
    }

    /// Frees an error of GLib. Its words may be those of a service, which can echo a secret.
    static func drop(_ error: UnsafeMutablePointer<GError>?) {
        if let error { glib.pointee.g_error_free(error) }
    }

    /// A foreign text cut to what fits on a line of a message, without control characters.
    static func printable(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let scalars = String(cString: text).unicodeScalars.prefix(200)
        return String(String.UnicodeScalarView(scalars.filter { $0.properties.generalCategory != .control }))
    }
}
