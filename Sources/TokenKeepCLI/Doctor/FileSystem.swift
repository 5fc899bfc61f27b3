import Glibc

/// The file system that contains a path or, if the path does not exist yet, will contain the path.
struct FileSystem {
    /// The kernel's name for the type of the file system, for example `ext4` or `nfs4`.
    private let kind: String
    private let free: UInt64
    private let freeFiles: UInt64

    /// Inspects the file system of the path or of its nearest existing parent; nil if the system refuses.
    init?(_ path: String) {
        var path = path
        var system = statvfs()
        while statvfs(path, &system) != 0 {
            guard errno == ENOENT || errno == ENOTDIR, let slash = path.lastIndex(of: "/"), path != "/" else {
                return nil
            }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        kind = FileSystem.kind(of: path)
        free = UInt64(system.f_bavail) * UInt64(system.f_frsize)
        // A file system that has no fixed number of files reports a total of 0.
        freeFiles = system.f_files == 0 ? .max : UInt64(system.f_favail)
    }

    /// The type of the nearest mount above the path (proc_pid_mountinfo(5)); empty if it is unknown.
    private static func kind(of path: String) -> String {
        let resolved = realpath(path, nil)
        defer { Glibc.free(resolved) }
        let place = resolved.map { String(cString: $0) } ?? path
        var nearest = (length: -1, kind: "")
        for line in (SmallFile.text("/proc/self/mountinfo") ?? "").split(separator: "\n" as Character) {
            let words = line.split(separator: " " as Character)
            guard words.count > 6, let dash = words.firstIndex(of: "-"), dash + 1 < words.count else { continue }
            let mount = words[4]
            let isAbove = place == mount || mount == "/" || place.hasPrefix("\(mount)/")
            // If two mounts have the same path, the later mount hides the earlier mount.
            guard isAbove, mount.utf8.count >= nearest.length else { continue }
            nearest = (mount.utf8.count, String(words[dash + 1]))
        }
        return nearest.kind
    }

    private static let network: Set = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "gfs2", "ocfs2", "virtiofs",
        "vboxsf", "drvfs",
    ]

    /// A finding about an unusual type of file system; nil for a usual type.
    func kindFinding(of path: String) -> Finding? {
        if kind == "tmpfs" || kind == "ramfs" {
            return .note(
                "vault", "\(path) is in memory (\(kind))", because: "A restart of the machine loses every item.",
                hint: "export TOKENKEEP_VAULT=/a/folder/on/a/disk")
        }
        guard FileSystem.network.contains(kind) || kind == "fuse" || kind.hasPrefix("fuse.") else { return nil }
        return .note(
            "vault", "\(path) is on a file system of another program or machine (\(kind))",
            because:
                "Locks, renames and flushes may not hold there: a loss of power can lose a save that was acknowledged.",
            hint: "export TOKENKEEP_VAULT=/a/folder/on/a/disk")
    }

    /// A finding if fewer than `scarce` bytes or 64 files are free; otherwise nil.
    func spaceFinding(of path: String, _ scarce: UInt64) -> Finding? {
        let isShortOfFiles = freeFiles < 64
        guard free < scarce || isShortOfFiles else { return nil }
        let left = isShortOfFiles ? "\(freeFiles) free files" : "\(free >> 10) KiB free"
        return .problem(
            "vault", "the file system of \(path) has only \(left)",
            because: "A save fails if it is full, and so does each write that waits for a module.",
            hint: "df -h '\(path)'")
    }
}
