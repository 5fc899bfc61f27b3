import Glibc
import TokenKeepCore

// The rules of the interface:
//
// - What was asked for goes to standard output: the secret of `load`, a table, JSON, a help text. Everything else goes
//   to standard error, but for the question for a secret, which goes to the terminal itself.
// - An error is one line, "tokenkeep: " and what happened, in lower case, without a final period. Where there is
//   something to do about it, a second line begins with "hint: ". A warning begins with "tokenkeep: warning: ".
// - What succeeds is silent, unless its outcome is a number that the caller cannot know.
// - Names, labels and messages are shown with control characters, line breaks and invisible or reordering characters
//   escaped: other programs may have stored them. Secrets are written as they are, and nowhere but to standard output.

/// Writes to standard output and standard error by the rules above.
enum Terminal {
    /// The reader of standard output is gone. It knows; nothing is said.
    struct OutputClosed: Error {}

    /// Writes text to standard output, whole.
    static func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes bytes to standard output, all of them.
    static func write(_ bytes: UnsafeRawBufferPointer) throws {
        let error = writeAll(bytes, to: STDOUT_FILENO)
        if error == EPIPE { throw OutputClosed() }
        guard error == 0 else {
            throw TokenKeepError(.io, "standard output cannot be written: \(describe(errno: error))")
        }
    }

    /// Says why the program fails.
    static func report(_ error: TokenKeepError) {
        say("tokenkeep: \(words(of: error))", hint: error.hint)
    }

    /// Says what is amiss though the program does not fail.
    static func warn(_ error: TokenKeepError) {
        say("tokenkeep: warning: \(words(of: error))", hint: error.hint)
    }

    /// Says what happens meanwhile, or otherwise than a user may expect, though it goes well.
    static func explain(_ text: String) {
        say("tokenkeep: \(text)", hint: nil)
    }

    /// The text with everything that could deceive a reader escaped as `\u{…}`. Always one line.
    static func printable(_ text: String) -> String {
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

    /// Whether a terminal would do something else with the scalar than show it: control and format characters (among
    /// them those that reorder text) and line breaks. The two joiners are a part of ordinary words and emoji.
    static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// The operating system's words for an error number.
    static func describe(errno number: Int32) -> String {
        guard let words = strerror(number) else { return "error \(number)" }
        return String(cString: words)
    }

    /// Writes all bytes, however the kernel divides them. Returns 0 or the error number.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
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

    /// A message, with its module where the fault is that module's.
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
        // Where standard error cannot be written, there is nobody to tell.
        text.withUTF8 { _ = writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}
