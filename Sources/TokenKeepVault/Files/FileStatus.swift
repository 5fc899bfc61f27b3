import CSystemShims
import Glibc

/// What the vault asks of a file's status.
struct FileStatus {
    /// Tells one file from another that took its name.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int
        let changed: Int64  // nanoseconds
    }

    let isRegularFile: Bool
    let permissions: UInt32
    let owner: uid_t
    let size: Int
    let identity: Identity

    init(_ status: stat) {
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        permissions = status.st_mode & 0o777
        owner = status.st_uid
        size = status.st_size
        identity = Identity(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: status.st_size,
            changed: Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec))
    }
}
