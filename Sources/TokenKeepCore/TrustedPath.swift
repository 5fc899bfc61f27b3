internal import CSystemShims
import Glibc

/// Checks that no other user can replace the file or directory at a path.
///
/// A user who may write to a directory can replace a file in it, whatever the file's own permissions are.
package enum TrustedPath {
    private static let mostLinks = 40

    /// Throws if anybody except `user` and root can replace a directory of the path.
    ///
    /// Follows symbolic links, and checks the directories of their targets, too. Does not check a file at the end of
    /// the path, missing parts of the path, or parts inside a directory that the process may not enter.
    ///
    /// Accepts a directory that root or `user` owns and that only its owner and the owner's private group may write to.
    /// Before the end of the path, also accepts directories with the sticky bit, like /tmp, and directories of root
    /// that a group may write to.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - user: the user who, besides root, may own directories of the path; nil for root alone.
    /// - Throws: ``Status/denied``, with a command that repairs the permissions as the hint; ``Status/invalid`` for a
    ///   relative path; ``Status/io`` if the path cannot be inspected.
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

    /// Checks a path like ``check(_:user:)``, for the effective user of this process.
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
            hint: remedy(owner: status.st_uid, user))
    }

    /// The hint for a directory of another user. Never advises to change the directory's owner.
    private static func remedy(owner: uid_t, _ user: uid_t?) -> String {
        guard let user else { return "use a directory of root's" }
        guard user == 0 else { return "use a directory of your own" }
        return "use a directory of root's, or run this as its owner: sudo -u '#\(owner)' COMMAND"
    }

    /// Whether a file's owner has no number in this process's user namespace, so that the kernel shows the owner as
    /// nobody.
    ///
    /// In most sandboxes, root's files have such an owner.
    static func isUnmapped(_ owner: uid_t) -> Bool {
        let nobody: uid_t = 65534
        return owner == nobody && tokenkeep_is_in_user_namespace() != 0
    }

    /// The metadata of the file at a path; nil if the process cannot see the file. Does not follow a link at the end.
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

    /// A path in single quotation marks, for use in a shell command.
    private static func quoted(_ path: String) -> String {
        "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
