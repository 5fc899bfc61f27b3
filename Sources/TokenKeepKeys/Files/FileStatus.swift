import CSystemShims
import Glibc

/// The metadata of a file (stat(2)) that the vault needs.
package struct FileStatus {
    /// Identifies a file and its last change, to detect that the file was changed or replaced.
    package struct Identity: Equatable {
        package let device: UInt64
        package let inode: UInt64
        package let size: Int
        package let changed: Int64  // in nanoseconds

        /// The identity of a directory, which stays the same when entries are added or removed: size and change time
        /// are 0.
        var ofFolder: Identity { Identity(device: device, inode: inode, size: 0, changed: 0) }
    }

    /// Whether the user owns the file and no other user has access.
    var isOwnedAndPrivate: Bool { owner == geteuid() && permissions & 0o077 == 0 }

    package let isRegularFile: Bool
    let isDirectory: Bool
    package let permissions: UInt32
    package let owner: UInt32
    package let size: Int
    /// The number of the file's names (hard links); 0 for an open file that was removed or replaced.
    package let links: UInt64
    package let identity: Identity

    init(_ status: stat) {
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        permissions = status.st_mode & 0o777
        owner = status.st_uid
        size = status.st_size
        links = UInt64(status.st_nlink)
        identity = Identity(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: status.st_size,
            changed: Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec))
    }
}
