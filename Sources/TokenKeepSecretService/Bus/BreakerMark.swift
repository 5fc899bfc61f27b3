internal import CSystemShims
import Glibc
import TokenKeepCore

/// A mark that tells the user's other processes that the service on this bus did not answer.
///
/// The mark is the file `tokenkeep/breaker-BUS` in the runtime directory. Its one line contains the service's unique
/// bus name and the time of the boot clock in milliseconds. The content is not trusted: a forged mark only costs one
/// query to the service. Failures to read or write the file are ignored.
struct BreakerMark: Sendable {
    private static let folder = "tokenkeep"
    private static let longest = 200

    private let runtimeDirectory: String
    private let name: String

    /// Computes the path of a bus's mark, in the user's runtime directory.
    ///
    /// - Parameter bus: the GUID of the bus.
    /// - Returns: nil if the GUID is malformed, the runtime directory is unknown or the environment cannot be trusted.
    init?(bus: String) {
        let isWellFormed =
            bus.utf8.count == 32 && bus.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        guard isWellFormed, !Privileges.areRaised, let directory = RuntimeDirectory.find(),
            directory.utf8.first == UInt8(ascii: "/")
        else { return nil }
        runtimeDirectory = directory
        name = "breaker-" + bus
    }

    /// Whether a mark file exists, valid or not. Takes one system call.
    var mayExist: Bool { access("\(runtimeDirectory)/\(BreakerMark.folder)/\(name)", F_OK) == 0 }

    /// The unique bus name of the service that did not answer; nil if there is no valid mark.
    func owner() -> String? {
        inFolder { folder in
            let file = tokenkeep_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
            guard file >= 0 else { return nil }
            defer { close(file) }
            guard BreakerMark.isOwn(file, kind: S_IFREG) else { return nil }
            var bytes = [UInt8](repeating: 0, count: BreakerMark.longest)
            let length = read(file, &bytes, bytes.count)
            guard length > 0, length < bytes.count, bytes[length - 1] == UInt8(ascii: "\n") else { return nil }
            let words = String(decoding: bytes.prefix(length - 1), as: UTF8.self).split(separator: " ")
            guard words.count == 2, let time = UInt64(words[1]), time <= BreakerMark.now else { return nil }
            return String(words[0])
        }
    }

    /// Writes a mark about a service, in place of an earlier mark.
    func leave(owner: String) {
        inFolder(making: true) { folder -> Void? in
            let draft = "\(name).\(getpid())"
            unlinkat(folder, draft, 0)
            let file = tokenkeep_openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { return nil }
            var line = "\(owner) \(BreakerMark.now)\n"
            let isWritten = line.withUTF8 { tokenkeep_write(file, $0.baseAddress, $0.count, 0) == $0.count }
            close(file)
            guard isWritten, renameat(folder, draft, folder, name) == 0 else { return _ = unlinkat(folder, draft, 0) }
            return ()
        }
    }

    /// Removes the mark, whatever its content.
    func remove() { inFolder { unlinkat($0, name, 0) } }

    /// Runs `body` with the mark's directory; nil if the directory is missing or accessible to other users.
    @discardableResult
    private func inFolder<Result>(making isMade: Bool = false, _ body: (Int32) -> Result?) -> Result? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let directory = tokenkeep_openat(AT_FDCWD, runtimeDirectory, flags, 0)
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        guard BreakerMark.isOwn(directory, kind: S_IFDIR) else { return nil }
        if isMade { tokenkeep_mkdirat(directory, BreakerMark.folder) }
        let folder = tokenkeep_openat(directory, BreakerMark.folder, flags, 0)
        guard folder >= 0 else { return nil }
        defer { close(folder) }
        return BreakerMark.isOwn(folder, kind: S_IFDIR) ? body(folder) : nil
    }

    /// Whether an open file is of this kind, belongs to this user and gives no rights to other users.
    private static func isOwn(_ descriptor: Int32, kind: mode_t) -> Bool {
        var status = stat()
        guard tokenkeep_fstat(descriptor, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == kind && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec / 1_000_000)
    }
}
