internal import CSystemShims
import Glibc

/// Checks that no other user can replace the file at a path.
///
/// Write access to a directory suffices to replace a file in it, whatever the file's own permissions.
package enum TrustedPath {
    private static let mostLinks = 40

    /// Refuses a path if a user other than `user` and root can replace a directory on it, or the directory at its end.
    ///
    /// Links are followed, and the directories on the way to their targets are checked too. A file at the end is not
    /// checked. A part is not checked either if the process cannot see it: it is missing, or in a directory that the
    /// process may not enter.
    ///
    /// A directory passes if root or the user owns it, and only the owner and the owner's private group may write to
    /// it. On the way, two more kinds of directories pass: those with the sticky bit, like /tmp, and those that root
    /// gave to a group.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - user: the user whose directories pass besides root's; nil if only root's pass.
    /// - Throws: ``Status/denied``, with the repairing command as the hint; ``Status/invalid`` for a relative path;
    ///   ``Status/io``.
    package static func check(_ path: String, user: UInt32?) throws(TokenKeepError) {
        guard path.utf8.first == UInt8(ascii: "/") else { throw TokenKeepError(.invalid, "\(path) is not absolute") }
        var ahead = Array(path.split(separator: "/").filter { $0 != "." }.reversed())
        var (current, links) = ("", 0)
        if let root = try status(of: "/") { try check(root, of: "/", user, isLast: ahead.isEmpty) }
        while let component = ahead.popLast() {
            if component == "." { continue }
            if component == ".." {
                current = String(current[..<(current.lastIndex(of: "/") ?? current.startIndex)])
                continue
            }
            let next = current + "/" + component
            guard let found = try status(of: next) else { return }
            switch found.st_mode & S_IFMT {
            case S_IFLNK:
                links += 1
                guard links <= mostLinks else { throw TokenKeepError(.denied, "\(path) has too many links") }
                try checkOwner(found, of: next, user)
                let target = try target(of: next)
                if target.utf8.first == UInt8(ascii: "/") { current = "" }
                ahead += target.split(separator: "/").reversed()
            case S_IFDIR:
                try check(found, of: next, user, isLast: ahead.isEmpty)
                current = next
            default: return
            }
        }
    }

    /// Checks a path for the effective user of this process. See ``check(_:user:)``.
    package static func check(_ path: String) throws(TokenKeepError) { try check(path, user: geteuid()) }

    private static func check(
        _ status: stat, of directory: String, _ user: uid_t?, isLast: Bool
    ) throws(TokenKeepError) {
        try checkOwner(status, of: directory, user)
        if !isLast, status.st_mode & S_ISVTX != 0 { return }
        let groupIsHarmless =
            status.st_mode & S_IWGRP == 0 || (!isLast && status.st_uid == 0)
            || PrivateGroup.isOwn(status.st_gid, of: status.st_uid)
        guard status.st_mode & S_IWOTH == 0, groupIsHarmless else {
            throw TokenKeepError(
                .denied, "others than its owner may write to \(directory)", hint: "chmod go-w \(quoted(directory))")
        }
    }

    private static func checkOwner(_ status: stat, of path: String, _ user: uid_t?) throws(TokenKeepError) {
        guard status.st_uid != 0, status.st_uid != user, !isUnmapped(status.st_uid) else { return }
        let wanted = user.map { $0 == 0 ? "root" : "user \($0) or root" } ?? "root"
        throw TokenKeepError(
            .denied, "\(path) belongs to user \(status.st_uid), not to \(wanted)",
            hint: "chown \(user ?? 0) \(quoted(path))")
    }

    /// Whether the owner has no number in this process's user namespace. The kernel shows every such owner as nobody.
    ///
    /// In most sandboxes root has no number.
    private static func isUnmapped(_ owner: uid_t) -> Bool {
        let nobody: uid_t = 65534
        return owner == nobody && tokenkeep_is_in_user_namespace() != 0
    }

    /// The status of a path, or of a symbolic link itself; nil if the process cannot see it.
    private static func status(of path: String) throws(TokenKeepError) -> stat? {
        var status = stat()
        if tokenkeep_fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        if [ENOENT, ENOTDIR, EACCES].contains(errno) { return nil }
        throw failure(path)
    }

    private static func target(of link: String) throws(TokenKeepError) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        var count = 0
        repeat { count = readlink(link, &bytes, bytes.count) } while count < 0 && errno == EINTR
        guard count >= 0 else { throw failure(link) }
        guard let target = String(validating: bytes[..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self) else {
            throw TokenKeepError(.denied, "\(link) leads to a path that is not UTF-8")
        }
        return target
    }

    private static func failure(_ path: String) -> TokenKeepError {
        let words = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        return TokenKeepError(.io, "cannot inspect \(path): \(words)")
    }

    /// A path quoted for a shell.
    private static func quoted(_ path: String) -> String {
        "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
