import Glibc

/// Finds the home directory of the process's effective user, without using environment variables.
package enum HomeDirectory {
    /// The path in the passwd database; nil if the user has no entry or the path is not absolute.
    package static func path() -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var size = 1024
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let error = getpwuid_r(geteuid(), &entry, buffer, size, &found)
            if error == ERANGE, size < 1 << 20 {
                size *= 4
                continue
            }
            guard error == 0, found != nil, let home = entry.pw_dir, let path = String(validatingCString: home),
                path.utf8.first == UInt8(ascii: "/")
            else { return nil }
            return path
        }
    }
}
