internal import CSystemShims
import Glibc

/// The user's directory for sockets and marks, which exists while the user is signed in.
enum RuntimeDirectory {
    /// `XDG_RUNTIME_DIR`; if the variable is not set, as in cron and in timers, the user's directory in `/run/user`.
    ///
    /// - Parameter parent: the directory that contains the runtime directories of all users.
    /// - Returns: nil if the variable is not set and `parent` has no directory that only this user can access.
    static func find(below parent: String = "/run/user") -> String? {
        if let text = getenv("XDG_RUNTIME_DIR"), text.pointee != 0 { return String(cString: text) }
        let path = "\(parent)/\(getuid())"
        let directory = tokenkeep_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        var status = stat()
        guard tokenkeep_fstat(directory, &status) == 0, status.st_uid == getuid(), status.st_mode & 0o077 == 0 else {
            return nil
        }
        return path
    }
}
