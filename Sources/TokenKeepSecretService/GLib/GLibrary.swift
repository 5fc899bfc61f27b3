internal import CLibsecret
import Glibc
import TokenKeepCore

/// The table of libsecret's and GLib's functions. Call a function only after ``GLibrary/load()``.
nonisolated(unsafe) let glib: UnsafePointer<tokenkeep_libsecret> = tokenkeep_libsecret_table()

/// Loads libsecret and GLib on first use, once per process.
enum GLibrary {
    private enum State {
        case notLoaded(TokenKeepError)
        case loaded
        case missing(String)
    }

    private static let state = MutexGuarded(State.notLoaded(DescriptorSupply.isShort))

    /// Initialises GLib's socket class now, and then restores the program's handler of SIGPIPE.
    ///
    /// When the class is initialised, it makes the whole process ignore SIGPIPE. The module does not need that, because
    /// GLib's sends never raise the signal.
    private static func keepSignalHandler() {
        var handler = sigaction()
        guard sigaction(SIGPIPE, nil, &handler) == 0 else { return }
        _ = glib.pointee.g_type_class_ref(glib.pointee.g_socket_get_type())  // never released
        sigaction(SIGPIPE, &handler, nil)
    }

    /// Loads libsecret and GLib.
    ///
    /// - Throws: ``Status/unavailable``. If a library is not installed or too old, the error is an absence, and every
    ///   later call throws the same error. If descriptors or memory are short, the next call tries again.
    static func load() throws(TokenKeepError) {
        let outcome = state.withLock { state in
            if case .notLoaded = state { state = attempt() }
            return state
        }
        switch outcome {
        case .loaded: return
        case .notLoaded(let shortage): throw shortage
        case .missing(let problem):
            throw TokenKeepError(.unavailable, problem, hint: "install the package libsecret-1-0", isAbsence: true)
        }
    }

    private static func attempt() -> State {
        var problem: UnsafePointer<CChar>?
        switch tokenkeep_libsecret_load(&problem) {
        case 0:
            keepSignalHandler()
            return .loaded
        case EMFILE: return .notLoaded(DescriptorSupply.isShort)
        case ENOENT: return .missing(problem.map { String(cString: $0) } ?? "")
        default: return .notLoaded(TokenKeepError(.unavailable, "libsecret could not be loaded; memory may be short"))
        }
    }

    /// Frees an error of GLib. The message is not read, because the service wrote it and it may contain a secret.
    static func drop(_ error: UnsafeMutablePointer<GError>?) {
        if let error { glib.pointee.g_error_free(error) }
    }

    /// Makes another program's text safe for a message: at most 200 characters, without control characters.
    static func printable(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let scalars = String(cString: text).unicodeScalars.prefix(200)
        return String(String.UnicodeScalarView(scalars.filter { $0.properties.generalCategory != .control }))
    }
}
