internal import CSystemShims
import Glibc

/// Checks that a new file or directory is not made in another user's home.
package enum OwnedPlace {
    /// Throws if the nearest existing directory of the path belongs neither to this user nor to root.
    ///
    /// After `sudo -E`, HOME is the home of another user, who could not use a directory that root makes there.
    ///
    /// - Parameter path: the absolute path of the file to make; its last directories may be missing.
    /// - Throws: ``Status/denied`` if another user owns the directory.
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
