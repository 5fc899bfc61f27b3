import Glibc
import TokenKeepCore
import TokenKeepOAuth

/// Shows the steps of a sign-in on standard error, and reads a pasted address from standard input.
final class SignInPresentation {
    private var isAsked = false
    private var lastMinute: UInt32 = .max
    /// The bytes that were typed or pasted so far.
    private var line: [UInt8] = []
    private var hasInput = true
    /// Whether the rest of a line is skipped, because the line is too long.
    private var isSkipping = false
    /// Whether a pasted text was refused.
    private var hasProblem = false
    private static let longestText = 16_384
    /// The time to wait for further lines after a line, in milliseconds.
    private static let pauseOfPaste: Int32 = 100

    func present(_ step: SignInStep) throws(TokenKeepError) -> SecretBytes? {
        switch step.kind {
        case .browser:
            Terminal.writeError("Sign in with the browser, which opens now, at\n  \(step.address)\n")
            Terminal.writeError("If it cannot come back, paste here the address to which it was sent.\n")
            isAsked = true
            // If standard input is not a terminal, its content belongs to the next command of a script.
            hasInput = isatty(STDIN_FILENO) == 1
            return nil
        case .device:
            Terminal.writeError("Open \(step.address) on any device, and type the code  \(step.userCode ?? "")\n")
            if let address = step.completeAddress { Terminal.writeError("or open \(address)\n") }
            return nil
        case .paste:
            if !isAsked {
                Terminal.writeError("Open this address in a browser, anywhere, and sign in:\n  \(step.address)\n")
                Terminal.writeError("Then paste here the address to which the browser was sent, the whole line:\n")
                isAsked = true
            }
            if let notice = step.notice { write(notice) }
            if let problem = step.problem { show(problem) }
            countDown(step.millisecondsLeft)
            let text = try pasted()
            guard text != nil || hasInput || !hasProblem else {
                throw TokenKeepError(.denied, "the input ended without the address to which the browser was sent")
            }
            return text
        }
    }

    /// Prints the reason why the pasted text was refused.
    private func show(_ problem: TokenKeepError) {
        hasProblem = true
        write(problem)
    }

    private func write(_ problem: TokenKeepError) {
        Terminal.writeError("\(problem.message)\n")
        if let hint = problem.hint { Terminal.writeError("\(hint)\n") }
    }

    /// Prints the number of minutes that are left, once a minute.
    private func countDown(_ milliseconds: UInt32) {
        let minute = milliseconds / 60_000 + (milliseconds % 60_000 == 0 ? 0 : 1)
        defer { lastMinute = min(lastMinute, minute) }
        guard minute < lastMinute, lastMinute != .max, Terminal.showsErrors else { return }
        Terminal.writeError(minute == 1 ? "one minute left\n" : "\(minute) minutes left\n")
    }

    /// Returns the lines that were typed or pasted; nil if no line is complete yet. A pasted address may consist of
    /// several lines.
    private func pasted() throws(TokenKeepError) -> SecretBytes? {
        line.reserveCapacity(Self.longestText)
        while hasInput {
            // After a line, wait briefly for further lines, because all lines of a pasted text arrive at once.
            let pause = line.last == UInt8(ascii: "\n") ? Self.pauseOfPaste : 0
            var polled = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, pause) > 0 else { break }
            var byte: UInt8 = 0
            hasInput = read(STDIN_FILENO, &byte, 1) == 1
            if hasInput { add(byte) }
        }
        guard !hasInput || line.last == UInt8(ascii: "\n") else { return nil }
        defer { wipe() }
        return line.allSatisfy { [0x20, 0x0A, 0x0D].contains($0) } ? nil : try SecretBytes(bytes: line)
    }

    private func add(_ byte: UInt8) {
        if line.count == Self.longestText, !isSkipping {
            wipe()
            isSkipping = true
            show(TokenKeepError(.invalid, "the pasted line is longer than \(Self.longestText) bytes"))
        }
        if !isSkipping { line.append(byte) }
        if byte == UInt8(ascii: "\n") { isSkipping = false }
    }

    private func wipe() {
        line.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            explicit_bzero(start, bytes.count)
        }
        line.removeAll(keepingCapacity: true)
    }
}
