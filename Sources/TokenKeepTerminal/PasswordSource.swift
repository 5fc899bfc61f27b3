import Glibc
package import TokenKeepCore

/// The source of a password that is not typed: the first line of a file or of an open descriptor.
package struct PasswordSource: Sendable {
    private enum Place: Sendable {
        case file(String, named: String)
        case descriptor(Int32)
    }

    /// The maximum time, in milliseconds, to wait for the password from a pipe, if the caller sets no limit.
    ///
    /// The limit is long, because the writer of the pipe may prompt the user.
    private static let longestWait: UInt32 = 120_000

    private let place: Place
    /// The password after the first read; nil before. A pipe can be read only once.
    private let known = MutexGuarded<SecretBytes?>(nil)

    /// Makes a source from a file. Errors contain `name`, the option or variable that names the file.
    package static func file(_ path: String, named name: String) -> PasswordSource {
        PasswordSource(place: .file(path, named: name))
    }

    /// Makes a source from an open descriptor, which is not closed.
    package static func descriptor(_ number: Int32) -> PasswordSource { PasswordSource(place: .descriptor(number)) }

    private init(place: Place) { self.place = place }

    /// The environment variable that names a file, like the option `--password-file`.
    package static let variable = "TOKENKEEP_PASSWORD_FILE"

    /// The file that ``variable`` names; nil if the variable is not set or the process has raised privileges.
    package static func fromEnvironment() -> PasswordSource? {
        guard !Privileges.areRaised, let value = getenv(variable), value.pointee != 0 else { return nil }
        return .file(String(cString: value), named: variable)
    }

    /// Whether standard input is the source.
    package var isStandardInput: Bool { if case .descriptor(STDIN_FILENO) = place { true } else { false } }

    /// Prevents programs that this process executes from reading the password: marks the descriptor close-on-exec, or
    /// replaces standard input by /dev/null.
    package func hide() {
        guard case .descriptor(let number) = place else { return }
        if number > STDERR_FILENO {
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        } else if number == STDIN_FILENO {
            PasswordSource.hideStandardInput()
        }
    }

    /// Replaces standard input by /dev/null. The caller has read standard input to its end.
    package static func hideStandardInput() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, STDIN_FILENO)
        close(nothing)
    }

    /// Reads the first line, without its line end and without a byte order mark.
    ///
    /// - Parameter milliseconds: the maximum time to wait for the writer of a pipe; nil for two minutes.
    /// - Throws: ``Status/denied`` if other users may read or change the file; ``Status/invalid`` if the file or
    ///   descriptor does not exist, or the line is empty; ``Status/timedOut`` if nothing is written into a pipe in
    ///   time; ``Status/io`` if the system fails to read the source.
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

    /// Throws ``Status/denied`` if another user could have written the file, or can read it.
    ///
    /// A file that belongs to root may be readable by all users, because container platforms mount secrets as such
    /// files.
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
