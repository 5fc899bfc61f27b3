import Glibc
import SystemPackage
package import TokenKeepCore

extension VaultDirectory {
    /// Checks whether ``make(_:)`` could make a missing directory. Changes nothing.
    ///
    /// - Throws: the error of ``make(_:)``: ``Status/denied`` if the path is refused or the user may not write there,
    ///   ``Status/io`` if the file system is read-only or, like `/proc`, accepts no new directories.
    package static func checkMaking(_ path: String) throws(TokenKeepError) {
        try TrustedPath.check(path, user: geteuid())
        var (parent, prefix) = ("/", "")
        for component in path.split(separator: "/") {
            prefix += "/" + component
            do throws(Errno) {
                if try SystemCall.status(of: prefix, in: AT_FDCWD) == nil {
                    return try checkWriting(parent)
                }
            } catch {
                throw error.error("cannot make the directory \(prefix)")
            }
            parent = prefix
        }
        do throws(Errno) {
            try checkWriting(parent)
        } catch {
            throw error.error("cannot make the directory \(parent)")
        }
    }

    /// Throws if the user may not make files in the directory.
    private static func checkWriting(_ directory: String) throws(Errno) {
        // With the suffix `/.`, a path that names a file is refused.
        let inside = directory + "/."
        guard faccessat(AT_FDCWD, inside, W_OK | X_OK, AT_EACCESS) == 0 else { throw Errno(rawValue: errno) }
        // Root has the permission to write in `/proc`, although nothing can be made there.
        let ofProcesses = try SystemCall.status(of: "/proc/self", in: AT_FDCWD)?.identity.device
        guard let ofProcesses, try SystemCall.status(of: inside, in: AT_FDCWD)?.identity.device == ofProcesses else {
            return
        }
        throw Errno.noSuchFileOrDirectory
    }
}
