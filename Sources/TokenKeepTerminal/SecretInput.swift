import Glibc
package import TokenKeepCore

/// Reads a secret from standard input directly into guarded memory.
package enum SecretInput {
    /// Reads standard input to its end.
    ///
    /// If standard input is a terminal, prompts the user for one line without echo.
    package static func read(for name: ItemName) throws(TokenKeepError) -> SecretBytes {
        if isatty(STDIN_FILENO) == 1 { return try HiddenInput.ask("secret for \(name): ") }
        return try readToEnd(of: STDIN_FILENO)
    }

    /// Returns the secret without a final LF or CR LF.
    package static func withoutNewline(_ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let count = secret.withUnsafeBytes { bytes in
            guard bytes.last == UInt8(ascii: "\n") else { return bytes.count }
            return bytes.dropLast().last == UInt8(ascii: "\r") ? bytes.count - 2 : bytes.count - 1
        }
        return count == secret.count ? secret : try secret.prefix(count)
    }

    /// Whether the secret contains exactly one line feed, as its last byte, which `echo` would add.
    package static func endsWithTheOnlyNewline(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 == bytes.endIndex - 1 } ?? false
        }
    }

    /// The error for a secret over the limit. Such a secret is refused, not truncated.
    package static func tooLong() -> TokenKeepError {
        TokenKeepError(
            .invalid, "the secret is longer than \(Limits.secret) bytes",
            hint: "keep large data encrypted in a file, and its key here")
    }

    /// Reads a descriptor to its end into one guarded buffer.
    ///
    /// The buffer has one byte more than the longest allowed input, so that a longer input is detected. The buffer does
    /// not grow, because a growing buffer would leave copies of the secret in memory.
    ///
    /// - Parameters:
    ///   - name: the name of the descriptor, for error messages.
    ///   - longest: the maximum length of the input, in bytes.
    ///   - tooLong: the error for an input over the limit.
    ///   - toLineEnd: whether to stop reading after the first line, because the writer of a pipe may never close the
    ///     pipe.
    ///   - deadline: the end of the wait for the writer of a pipe; nil for no limit, for example on standard input,
    ///     where the user may need time.
    /// - Throws: ``Status/timedOut`` if the deadline passes before the end of the input or, with `toLineEnd`, of the
    ///   first line; `tooLong` if the input is too long; or the status that corresponds to the error number of the
    ///   read.
    package static func readToEnd(
        of descriptor: Int32, named name: String = "standard input", atMost longest: Int = Limits.secret,
        tooLong: TokenKeepError = SecretInput.tooLong(), toLineEnd: Bool = false, until deadline: Deadline? = nil
    ) throws(TokenKeepError) -> SecretBytes {
        var count = 0
        let buffer = try SecretBytes(count: longest + 1) { bytes throws(TokenKeepError) in
            while count < bytes.count {
                if let deadline { try wait(for: descriptor, named: name, until: deadline) }
                let received = Glibc.read(descriptor, bytes.baseAddress.map { $0 + count }, bytes.count - count)
                if received == 0 { return }
                if received > 0 {
                    let chunk = bytes[count..<count + received]
                    count += received
                    if toLineEnd, chunk.contains(UInt8(ascii: "\n")) { return }
                } else if errno == EAGAIN {
                    guard deadline == nil else { continue }
                    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    poll(&poller, 1, -1)
                } else if errno != EINTR {
                    let error = errno
                    throw TokenKeepError(
                        .ofNamedFile(errno: error), "\(name) cannot be read: \(Terminal.describe(errno: error))")
                }
            }
        }
        guard count <= longest else { throw tooLong }
        return try buffer.prefix(count)
    }

    /// Opens a file for reading. Opening a pipe does not wait until a writer opens the pipe; ``readToEnd`` waits for
    /// the writer.
    ///
    /// - Returns: the descriptor; a negative number, and the reason in errno, if the file cannot be opened.
    package static func open(_ path: String) -> Int32 {
        Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    }

    /// Waits until a descriptor has bytes to read or has reached its end. The end of a pipe is not reached before a
    /// first writer has opened and closed it.
    ///
    /// - Throws: ``Status/timedOut`` if the deadline passes before.
    package static func wait(
        for descriptor: Int32, named name: String, until deadline: Deadline
    ) throws(TokenKeepError) {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let remaining = deadline.remainingMilliseconds
            let ready = poll(&poller, 1, Int32(clamping: remaining))
            if ready > 0 || ready < 0 && errno != EINTR { return }
            guard deadline.hasPassed else { continue }
            throw TokenKeepError(
                .timedOut, "\(name) is a pipe into which nothing is written", hint: "--timeout allows more time")
        }
    }
}
