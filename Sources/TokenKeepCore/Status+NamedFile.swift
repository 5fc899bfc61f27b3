import Glibc

extension Status {
    /// The status for an unusable file, pipe or descriptor that the caller named.
    ///
    /// ``Status/invalid`` if the name is wrong: the file does not exist or is of another kind. ``Status/denied`` if the
    /// permissions forbid the use. Otherwise ``Status/io``.
    ///
    /// - Parameter error: the error number of the failed call.
    package static func ofNamedFile(errno error: Int32) -> Status {
        switch error {
        case EACCES, EPERM: .denied
        case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL, EBADF, ENXIO, ENODEV: .invalid
        default: .io
        }
    }
}
