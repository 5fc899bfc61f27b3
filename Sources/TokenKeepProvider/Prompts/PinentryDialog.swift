import Glibc
import TokenKeepCore

/// A connection to pinentry that speaks the Assuan protocol over pipes. Used by one thread.
final class PinentryDialog {
    private let program: RunningProgram
    private static let lineLimit = 4096
    /// The maximum times, in milliseconds, for pinentry's end after SIGINT and then after SIGKILL.
    private static let ending: UInt32 = 1900
    private static let dying: UInt32 = 100
    /// The interval, in milliseconds, at which `isOver` is checked while pinentry has no output.
    private static let pause: Int32 = 50

    init(_ program: RunningProgram) { self.program = program }

    /// Sends SIGINT to pinentry and waits until it ends. Kills pinentry if it ignores SIGINT.
    func close() {
        kill(program.process, SIGINT)
        program.closeInput()
        if !program.waitForEnd(until: Deadline(milliseconds: PinentryDialog.ending)) {
            program.kill(within: PinentryDialog.dying)
        }
    }

    func greet(_ isOver: () -> Bool) throws(TokenKeepError) {
        guard try line(isOver).withUnsafeBytes({ $0.starts(with: "OK".utf8) }) else { throw PinentryDialog.strange }
    }

    /// Sends a command and reads pinentry's reply.
    ///
    /// - Parameter isOptional: whether a refusal of the command is ignored.
    func set(_ text: String, _ isOver: () -> Bool, isOptional: Bool = false) throws(TokenKeepError) {
        try send(text)
        let isDone = try answer(isOver)
        guard isDone || isOptional else { throw PinentryDialog.strange }
    }

    /// Asks the user for the password.
    ///
    /// - Throws: ``Status/cancelled`` if the user dismisses the question or `isOver` returns true.
    func password(_ isOver: () -> Bool) throws(TokenKeepError) -> SecretBytes {
        try send("GETPIN")
        var found: SecretBytes?
        while true {
            let line = try line(isOver)
            let kind = line.withUnsafeBytes { String(decoding: $0.prefix(3), as: UTF8.self) }
            if kind.hasPrefix("OK") { break }
            if kind == "ERR" { throw PinentryDialog.refusal(line) }
            if kind.hasPrefix("D ") { found = try PinentryDialog.unescape(line) }
        }
        guard let found, found.count > 0 else { throw PinentryDialog.dismissed }
        return found
    }

    /// libgpg-error's codes for "cancelled", "fully cancelled" and "timeout".
    private static let dismissals: Set<UInt32> = [99, 198, 62]

    /// Converts a reply "ERR NUMBER …" to an error: either the user dismissed the question, or pinentry cannot ask.
    private static func refusal(_ line: SecretBytes) -> TokenKeepError {
        let digits = line.withUnsafeBytes { $0.dropFirst(4).prefix { (48...57).contains($0) }.map { UInt32($0 - 48) } }
        // The upper 16 bits name the program that reports the error, so only the lower 16 are compared.
        let number = digits.prefix(10).reduce(0) { ($0 &* 10) &+ $1 } & 0xffff
        guard !dismissals.contains(number) else { return dismissed }
        return TokenKeepError(.unavailable, "pinentry cannot ask: error \(number)")
    }

    private static var dismissed: TokenKeepError { TokenKeepError(.cancelled, "the question was dismissed") }
    private static var strange: TokenKeepError {
        TokenKeepError(.unavailable, "pinentry answered in another way than pinentry")
    }

    /// Reads lines until "OK", which returns true, or "ERR", which returns false.
    private func answer(_ isOver: () -> Bool) throws(TokenKeepError) -> Bool {
        while true {
            let line = try line(isOver)
            let kind = line.withUnsafeBytes { String(decoding: $0.prefix(3), as: UTF8.self) }
            if kind.hasPrefix("OK") { return true }
            if kind == "ERR" { return false }
        }
    }

    private func send(_ text: String) throws(TokenKeepError) {
        let bytes = Array((text + "\n").utf8)
        guard bytes.withUnsafeBytes({ write(program.input, $0.baseAddress, $0.count) }) == bytes.count else {
            throw PinentryDialog.dismissed
        }
    }

    /// Reads one line byte by byte into guarded memory, because the line may be the password.
    private func line(_ isOver: () -> Bool) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(capacity: PinentryDialog.lineLimit) { bytes throws(TokenKeepError) in
            var length = 0
            while length < bytes.count {
                try waitForOutput(isOver)
                guard read(program.output, bytes.baseAddress.map { $0 + length }, 1) == 1 else {
                    throw PinentryDialog.dismissed
                }
                if bytes[length] == UInt8(ascii: "\n") { return length }
                length += 1
            }
            throw PinentryDialog.strange
        }
    }

    private func waitForOutput(_ isOver: () -> Bool) throws(TokenKeepError) {
        while true {
            var ready = pollfd(fd: program.output, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, PinentryDialog.pause) > 0 { return }
            guard !isOver() else { throw PinentryDialog.dismissed }
        }
    }

    /// The data of a line "D …", in which "%" and two hexadecimal digits encode a byte.
    private static func unescape(_ line: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(capacity: line.count) { bytes throws(TokenKeepError) in
            line.withUnsafeBytes { line in
                var (from, to) = (2, 0)
                while from < line.count {
                    if line[from] == UInt8(ascii: "%"), from + 2 < line.count,
                        let high = HexadecimalDigit.value(line[from + 1]),
                        let low = HexadecimalDigit.value(line[from + 2])
                    {
                        bytes[to] = high << 4 | low
                        from += 3
                    } else {
                        bytes[to] = line[from]
                        from += 1
                    }
                    to += 1
                }
                return to
            }
        }
    }
}
