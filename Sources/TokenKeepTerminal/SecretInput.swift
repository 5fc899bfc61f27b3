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

    /// The secret without a final LF or CR LF.
    package static func withoutNewline(_ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let count = secret.withUnsafeBytes { bytes in
            guard bytes.last == UInt8(ascii: "\n") else { return bytes.count }
            return bytes.dropLast().last == UInt8(ascii: "\r") ? bytes.count - 2 : bytes.count - 1
        }
        return count == secret.count ? secret : try secret.prefix(count)
    }

    /// Whether the secret is one line that ends with a line feed, as `echo` writes it.
    package static func endsWithTheOnlyNewline(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 == bytes.endIndex - 1 } ?? false
        }
    }

    /// The error for a secret over the limit, which is refused and never truncated.
    package static func tooLong() -> TokenKeepError {
        TokenKeepError(
            .invalid, "the secret is longer than \(Limits.secret) bytes",
            hint: "keep large data encrypted in a file, and its key here")
    }

    /// Reads a descriptor to its end into one guarded buffer.
    ///
    /// The buffer has one byte more than the longest input, to detect a longer one. It does not grow, because a
    /// growing buffer would leave copies of the secret in memory.
    ///
    /// - Parameters:
    ///   - name: the name of the descriptor, for errors.
    ///   - longest: the maximum length of the input, in bytes.
    ///   - tooLong: the error for an input over the limit.
    ///   - toLineEnd: whether reading may stop after the first line, because the writer of a pipe may keep the pipe
    ///     open.
    ///   - deadline: the end of the wait for the writer of a pipe; nil for standard input, because the user may need
    ///     time.
    /// - Throws: ``Status/timedOut`` if the writer has sent nothing by the deadline; otherwise the errors of reading.
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

    /// Opens a file for reading. A pipe opens even before its writer has opened it; ``readToEnd`` then waits for the
    /// writer.
    ///
    /// - Returns: the descriptor; a negative number, and the reason in errno, if the file cannot be opened.
    package static func open(_ path: String) -> Int32 {
        Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    }

    /// Waits until a descriptor has bytes or has reached its end. A pipe has no end before its first writer.
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
