import Glibc

extension Status {
    /// The status for a file, pipe or descriptor that the caller named and that cannot be used.
    ///
    /// ``Status/invalid`` if the name is wrong: there is no such file, or the file is of another kind.
    /// ``Status/denied`` if the permissions forbid the use, else ``Status/io``.
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
