internal import CSystemShims
import Glibc

/// Checks that a file or directory is not made in the home of another user.
package enum OwnedPlace {
    /// Throws if the nearest existing directory of the path belongs to a user other than this one and root.
    ///
    /// After `sudo -E` the home is another user's, who would be shut out of a directory of root's there.
    ///
    /// - Parameter path: the absolute path of a file that is to be made, with the missing directories before it.
    /// - Throws: ``Status/denied``.
    package static func check(_ path: String) throws(TokenKeepError) {
        var directory = path
        var status = stat()
        repeat {
            guard directory != "/", let slash = directory.lastIndex(of: "/") else { return }
            directory = slash == directory.startIndex ? "/" : String(directory[..<slash])
        } while tokenkeep_fstatat(AT_FDCWD, directory, &status, 0) != 0
        let user = geteuid()
        guard status.st_uid != user, status.st_uid != 0, !TrustedPath.isUnmapped(status.st_uid) else { return }
        let remedy = "run this as its owner: sudo -u '#\(status.st_uid)' COMMAND"
        throw TokenKeepError(
            .denied, "\(path) would be made in \(directory), which belongs to user \(status.st_uid)",
            hint: user == 0 ? remedy : "use a directory of your own")
    }
}
