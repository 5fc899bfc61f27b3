import Glibc
package import TokenKeepCore
import TokenKeepKeys

// The rules of the programs' output:
//
// - Requested output goes to standard output: the secret of `load`, a table, JSON, a help text. A prompt for a secret
//   goes to the terminal itself. All other output goes to standard error.
// - An error is one line: "tokenkeep: " and the failure, in lower case, without a final period. If the user can correct
//   the failure, a second line begins with "hint: ". A warning begins with "tokenkeep: warning: ".
// - A successful command prints nothing, unless its result is a number that the caller cannot know.
// - Names, labels and messages may come from other programs. Their control characters, line breaks and invisible or
//   reordering characters are escaped.
// - Secrets are written unchanged, and only to standard output.

/// Writes to standard output and standard error by these rules.
package enum Terminal {
    /// The error if the reader of standard output has closed the pipe. The program prints no message for this error.
    package struct OutputClosed: Error {
        package init() {}
    }

    /// Writes a whole text to standard output.
    package static func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes all bytes to standard output.
    package static func write(_ bytes: UnsafeRawBufferPointer) throws {
        let error = writeAll(bytes, to: STDOUT_FILENO)
        if error == EPIPE { throw OutputClosed() }
        guard error == 0 else {
            throw TokenKeepError(
                .ofNamedFile(errno: error), "standard output cannot be written: \(describe(errno: error))")
        }
    }

    /// Prints an error that ends the program, and its hint.
    package static func report(_ error: TokenKeepError) {
        say("tokenkeep: \(words(of: error))", hint: hint(of: error))
    }

    /// Returns an error as one line: the failure and, if there is one, a semicolon and the hint.
    package static func line(of error: TokenKeepError) -> String {
        let hint = hint(of: error).map { "; \($0)" } ?? ""
        return printable(words(of: error) + hint)
    }

    /// Prints an error that does not end the program, as a warning.
    package static func warn(_ error: TokenKeepError) {
        say("tokenkeep: warning: \(words(of: error))", hint: hint(of: error))
    }

    /// Returns the error's hint. If the vault is locked and this system cannot keep it unlocked after `tokenkeep
    /// unlock`, returns the hint to use `tokenkeep run` instead.
    private static func hint(of error: TokenKeepError) -> String? {
        guard error.status == .locked, error.module == "vault", KernelKeyring.obstacle ?? KernelKeyring.probe() != nil
        else { return error.hint }
        return "no key can stay in the kernel here; unlock the vault for one command: tokenkeep run -- COMMAND"
    }

    /// Prints a line about an event or an unexpected result that is not an error.
    package static func explain(_ text: String, hint: String? = nil) {
        say("tokenkeep: \(text)", hint: hint)
    }

    /// Prints a question without a line break, so that the user answers on the same line.
    package static func ask(_ question: String) { writeError(printable(question)) }

    /// Reads the user's answer to ``ask(_:)``. Returns true for "y" and "yes", false for other answers and at the end
    /// of the input.
    package static func agrees() -> Bool {
        let answer = readLine()
        if answer == nil { writeError("\n") }
        return ["y", "yes"].contains(answer?.lowercased() ?? "")
    }

    /// Whether standard error is a terminal.
    package static var showsErrors: Bool { isatty(STDERR_FILENO) == 1 }

    /// The width of the terminal on standard output; nil if standard output is no terminal or has no known width.
    package static var columns: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes text unchanged to standard error. Ignores write errors, because there is no other place to report them.
    package static func writeError(_ text: String) {
        var text = text
        text.withUTF8 { _ = writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Escapes every character that could deceive a reader as `\u{…}`. The result is always one line.
    package static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: mustBeEscaped) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if mustBeEscaped(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether a terminal would interpret the scalar instead of showing it.
    ///
    /// True for control characters, line breaks and format characters, some of which reorder text. False for the two
    /// joiners, which are part of ordinary words and emoji.
    package static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// The operating system's text for an error number.
    package static func describe(errno number: Int32) -> String {
        guard let words = strerror(number) else { return "error \(number)" }
        return String(cString: words)
    }

    /// Writes all bytes, with repeated writes if the kernel accepts only a part. Returns 0 or the error number.
    package static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&poller, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Returns the message of an error, after the module's name unless the status concerns the item or the request.
    private static func words(of error: TokenKeepError) -> String {
        guard let module = error.module else { return error.message }
        switch error.status {
        case .notFound, .duplicate, .conflict, .invalid, .policy: return error.message
        default: return "\(module): \(error.message)"
        }
    }

    private static func say(_ message: String, hint: String?) {
        var text = printable(message) + "\n"
        if let hint { text += "hint: \(printable(hint))\n" }
        writeError(text)
    }
}
