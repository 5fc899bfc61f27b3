import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepKeys

/// Reads a password from the first line of a file or descriptor, without the line feed.
enum PasswordReading {
    private static let limit = 4096

    static func file(_ path: String) throws(TokenKeepError) -> SecretBytes {
        // Without O_NONBLOCK, `open` would wait without a limit for the writer of a named pipe. With it, `poll` waits
        // later, with a limit.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TokenKeepError(.io, "cannot read \(path): \(Bus.describe(errno))")
        }
        defer { close(descriptor) }
        try checkOwnerAndMode(of: descriptor, path)
        return try line(of: descriptor, path)
    }

    /// Throws if another user may have written the file or can read it. Files of root may be readable by all.
    private static func checkOwnerAndMode(of descriptor: Int32, _ name: String) throws(TokenKeepError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw TokenKeepError(.io, "cannot read \(name): \(Bus.describe(errno))")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenKeepError(
                .denied, "\(name) belongs to user \(status.st_uid)", hint: "use a file of your own or of root")
        }
        guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o022 == 0 else {
            throw TokenKeepError(.denied, "other users may change \(name)", hint: "chmod go-w the file")
        }
        guard status.st_uid == 0 || status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o044 == 0 else {
            throw TokenKeepError(.denied, "other users may read \(name)", hint: "chmod go-r the file")
        }
    }

    /// Reads the first line of a descriptor, for two minutes at most.
    ///
    /// - Parameter isOver: called about ten times a second; the read ends once it returns true.
    /// - Throws: ``Status/invalid`` if the line is empty or too long; ``Status/cancelled`` if `isOver` ended the read;
    ///   ``Status/timedOut`` after two minutes.
    static func line(
        of descriptor: Int32, _ source: String, until isOver: () -> Bool = { false }
    ) throws(TokenKeepError) -> SecretBytes {
        let deadline = Deadline(milliseconds: UnlockPrompt.limit)
        let text = try SecretBytes(capacity: limit) { bytes throws(TokenKeepError) in
            var length = 0
            while length < bytes.count {
                try waitForInput(descriptor, source, deadline, isOver)
                let count = read(descriptor, bytes.baseAddress.map { $0 + length }, bytes.count - length)
                if count < 0, errno == EAGAIN || errno == EINTR { continue }
                guard count >= 0 else { throw TokenKeepError(.io, "cannot read \(source): \(Bus.describe(errno))") }
                guard count > 0 else { break }
                length += count
                if let end = bytes.prefix(length).firstIndex(of: UInt8(ascii: "\n")) { return end }
            }
            return length
        }
        guard text.count > 0, text.count < limit else {
            throw TokenKeepError(.invalid, "\(source) has no password in its first line")
        }
        return text
    }

    /// Waits until a descriptor is readable. The wait has a limit, because a writer may keep it open and write nothing.
    private static func waitForInput(
        _ descriptor: Int32, _ source: String, _ deadline: Deadline, _ isOver: () -> Bool
    ) throws(TokenKeepError) {
        while true {
            guard !isOver() else { throw PasswordInput.ended }
            guard !deadline.hasPassed else {
                throw TokenKeepError(.timedOut, "\(source) gave no password in two minutes")
            }
            var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&file, 1, 100) > 0 { return }
        }
    }
}

/// A password that a client passes by a descriptor. The descriptor is closed when this object is released.
final class PasswordInput: Sendable {
    /// The maximum numbers of unanswered `Unlock` calls, of one client and of all clients.
    static let clientLimit = 16
    static let limit = 64
    static let ended = TokenKeepError(.cancelled, "the descriptor is no longer needed")

    let client: String
    private let file: OwnedDescriptor
    private let isOver = MutexGuarded(false)

    init(_ descriptor: Int32, of client: String) {
        file = PasswordInput.withoutBlocking(OwnedDescriptor(descriptor))
        self.client = client
    }

    /// Opens a pipe or terminal again, for reads that do not block.
    ///
    /// The client shares the open file that it passed. A blocking read would hang if the client reads the bytes first,
    /// and the shared file's flags must not be changed, so the file is opened again.
    private static func withoutBlocking(_ file: OwnedDescriptor) -> OwnedDescriptor {
        var status = stat()
        guard fstat(file.number, &status) == 0, [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else {
            return file
        }
        let again = open("/proc/self/fd/\(file.number)", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        return again < 0 ? file : OwnedDescriptor(again)
    }

    var isEnded: Bool { isOver.withLock { $0 } }

    /// Ends the read, and prevents a later unlock attempt, because the client has left.
    func end() { isOver.withLock { $0 = true } }

    /// Reads the password. Blocks the calling thread until the line ends, the input ends or ``end()`` is called, for
    /// two minutes at most.
    func read() -> Result<SecretBytes, TokenKeepError> {
        do throws(TokenKeepError) {
            return .success(try PasswordReading.line(of: file.number, "the descriptor") { isEnded })
        } catch {
            return .failure(error)
        }
    }
}
