import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepKeys

/// Reads a password from a file or a descriptor: its first line, without the line's end.
enum PasswordReading {
    private static let limit = 4096

    static func file(_ path: String) throws(TokenKeepError) -> SecretBytes {
        // A named pipe without a writer is waited for by poll, which has a limit.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TokenKeepError(.io, "cannot read \(path): \(Bus.describe(errno))")
        }
        defer { close(descriptor) }
        try checkOwnerAndMode(of: descriptor, path)
        return try line(of: descriptor, path)
    }

    /// Refuses a file that another user may have written or may read. Files of root may be readable by all.
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
    /// - Parameter isOver: asked ten times a second; the reading ends once the result is true.
    /// - Throws: ``Status/invalid`` for an empty or overlong line; ``Status/cancelled`` if `isOver` ended the reading;
    ///   ``Status/timedOut``.
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

    /// Waits until a descriptor can be read. Its writer may keep it open and write nothing.
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

/// A password that a client hands over by a descriptor. The descriptor is closed with this object.
final class PasswordInput: Sendable {
    /// How many a client, and how many all clients, may have unanswered.
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

    /// Opens a pipe or a terminal once more, for reads that do not block: the client has the same open file, may read what
    /// `poll` has announced, and may not find it changed.
    private static func withoutBlocking(_ file: OwnedDescriptor) -> OwnedDescriptor {
        var status = stat()
        guard fstat(file.number, &status) == 0, [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else {
            return file
        }
        let again = open("/proc/self/fd/\(file.number)", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        return again < 0 ? file : OwnedDescriptor(again)
    }

    var isEnded: Bool { isOver.withLock { $0 } }

    /// Ends the reading, and lets no attempt begin: the client has left.
    func end() { isOver.withLock { $0 = true } }

    /// Reads the password. Blocks the calling thread until a line's end, the input's end, or ``end()``.
    func read() -> Result<SecretBytes, TokenKeepError> {
        do throws(TokenKeepError) {
            return .success(try PasswordReading.line(of: file.number, "the descriptor") { isEnded })
        } catch {
            return .failure(error)
        }
    }
}
