import Glibc
package import TokenKeepCore

/// Where a password comes from if nobody types it: the first line of a file or of a descriptor.
package struct PasswordSource: Sendable {
    private enum Place: Sendable {
        case file(String, named: String)
        case descriptor(Int32)
    }

    /// The time for the password of a pipe if no call limits it, in milliseconds: its writer may ask the user.
    private static let longestWait: UInt32 = 120_000

    private let place: Place
    /// The password, once it was read: a pipe can be read only once.
    private let known = MutexGuarded<SecretBytes?>(nil)

    /// A file; `name` tells in errors who named the file.
    package static func file(_ path: String, named name: String) -> PasswordSource {
        PasswordSource(place: .file(path, named: name))
    }

    /// An open descriptor, which stays open.
    package static func descriptor(_ number: Int32) -> PasswordSource { PasswordSource(place: .descriptor(number)) }

    private init(place: Place) { self.place = place }

    /// The environment variable that names a file like `--password-file`.
    package static let variable = "TOKENKEEP_PASSWORD_FILE"

    /// The file that ``variable`` names; nil for none, and if the process has raised privileges.
    package static func fromEnvironment() -> PasswordSource? {
        guard !Privileges.areRaised, let value = getenv(variable), value.pointee != 0 else { return nil }
        return .file(String(cString: value), named: variable)
    }

    /// Whether standard input is the source.
    package var isStandardInput: Bool { if case .descriptor(STDIN_FILENO) = place { true } else { false } }

    /// Keeps the password out of a program that this process executes: closes the descriptor then, and puts nothing in
    /// the place of standard input.
    package func hide() {
        guard case .descriptor(let number) = place else { return }
        if number > STDERR_FILENO {
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        } else if number == STDIN_FILENO {
            PasswordSource.hideStandardInput()
        }
    }

    /// Replaces standard input, which was read to its end, by /dev/null.
    package static func hideStandardInput() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, STDIN_FILENO)
        close(nothing)
    }

    /// The first line without its line end, and without a byte order mark.
    ///
    /// - Parameter milliseconds: the time for the writer of a pipe; nil for two minutes.
    /// - Throws: ``Status/denied`` if other users may read or change the file, ``Status/invalid`` if there is no such file
    ///   or descriptor or the line is empty, ``Status/timedOut`` if nothing is written into a pipe in time, ``Status/io`` if the system
    ///   fails to read the source.
    package func read(within milliseconds: UInt32? = nil) throws(TokenKeepError) -> SecretBytes {
        let deadline = Deadline(milliseconds: milliseconds ?? PasswordSource.longestWait)
        return try known.withLock { known throws(TokenKeepError) in
            if let known { return known }
            let line: SecretBytes
            switch place {
            case .descriptor(let number): line = try firstLine(of: number, "descriptor \(number)", deadline)
            case .file(let path, let name): line = try firstLine(ofFile: path, "\(name) \(path)", deadline)
            }
            known = line
            return line
        }
    }

    private func firstLine(
        ofFile path: String, _ name: String, _ deadline: Deadline
    ) throws(TokenKeepError) -> SecretBytes {
        let descriptor = SecretInput.open(path)
        guard descriptor >= 0 else {
            let error = errno
            throw TokenKeepError(
                .ofNamedFile(errno: error), "\(name) cannot be opened: \(Terminal.describe(errno: error))")
        }
        defer { close(descriptor) }
        try PasswordSource.checkOwnerAndMode(of: descriptor, name)
        return try firstLine(of: descriptor, name, deadline)
    }

    /// Refuses a file that another user may have written or may read.
    ///
    /// Files of root may be readable by all: container platforms mount their secrets so.
    private static func checkOwnerAndMode(of descriptor: Int32, _ name: String) throws(TokenKeepError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw TokenKeepError(.io, "\(name) cannot be examined: \(Terminal.describe(errno: errno))")
        }
        let type = status.st_mode & S_IFMT
        guard type == S_IFREG || type == S_IFIFO else {
            throw TokenKeepError(.invalid, "\(name) is neither a file nor a pipe")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenKeepError(
                .denied, "\(name) belongs to user \(status.st_uid)", hint: "use a file of your own or of root")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw TokenKeepError(.denied, "other users may change \(name)", hint: "chmod go-w the file")
        }
        guard status.st_uid == 0 || status.st_mode & 0o044 == 0 else {
            throw TokenKeepError(.denied, "other users may read \(name)", hint: "chmod go-r the file")
        }
    }

    private func firstLine(
        of descriptor: Int32, _ name: String, _ deadline: Deadline
    ) throws(TokenKeepError) -> SecretBytes {
        let input = try SecretInput.readToEnd(
            of: descriptor, named: name, tooLong: TokenKeepError(.invalid, "\(name) is longer than any password"),
            toLineEnd: true, until: deadline)
        let line = try input.withUnsafeBytes { bytes throws(TokenKeepError) in
            let text = try PasswordLine.text(bytes, of: name)
            let end = text.firstIndex(of: UInt8(ascii: "\n")) ?? text.endIndex
            return try PasswordLine.password(text[..<end], of: name)
        }
        guard line.count > 0 else { throw TokenKeepError(.invalid, "the first line of \(name) is empty") }
        return line
    }
}
