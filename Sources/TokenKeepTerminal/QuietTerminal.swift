import CSystemShims
import Glibc
import TokenKeepCore

/// Turns off the echo of a terminal until the terminal's settings are restored.
///
/// Meanwhile, every signal that would end or stop the program is blocked. A blocked signal ends the wait in
/// ``waitForInput(question:)``, which restores the terminal and then delivers the signal. No code runs inside a signal
/// handler.
final class QuietTerminal {
    /// The signals that stay unblocked: signals of faults, signals to a background process that uses its terminal, and
    /// signals that neither end nor stop a program.
    private static let passing = [
        SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU, SIGCHLD, SIGCONT, SIGURG, SIGWINCH,
    ]

    private let descriptor: Int32
    private let saved: termios
    private var heldSignals = sigset_t()
    private var signalsBefore = sigset_t()
    private let signalDescriptor: Int32

    /// Saves the terminal's settings and blocks the signals.
    init(descriptor: Int32) throws(TokenKeepError) {
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else { throw QuietTerminal.failure() }
        self.descriptor = descriptor
        saved = settings
        sigfillset(&heldSignals)
        for signal in QuietTerminal.passing { sigdelset(&heldSignals, signal) }
        pthread_sigmask(SIG_BLOCK, &heldSignals, &signalsBefore)
        signalDescriptor = tokenkeep_signal_descriptor(&heldSignals)
    }

    deinit {
        if signalDescriptor >= 0 { close(signalDescriptor) }
        pthread_sigmask(SIG_SETMASK, &signalsBefore, nil)
    }

    /// The terminal's keys for editing a line.
    var keys: HiddenLine.Keys {
        let characters = saved.c_cc
        return withUnsafeBytes(of: characters) {
            HiddenLine.Keys(erase: $0[Int(VERASE)], kill: $0[Int(VKILL)], end: $0[Int(VEOF)])
        }
    }

    /// Turns off echo and the terminal's own line editing. Keys that send signals, such as Ctrl-C, keep their effect.
    func silence() throws(TokenKeepError) {
        var settings = saved
        settings.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | IEXTEN)
        withUnsafeMutableBytes(of: &settings.c_cc) {
            $0[Int(VMIN)] = 1
            $0[Int(VTIME)] = 0
        }
        guard signalDescriptor >= 0, tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 else {
            throw QuietTerminal.failure()
        }
    }

    /// Restores the terminal's settings, discards unread input and ends the line of the prompt.
    func restore() {
        var settings = saved
        tcsetattr(descriptor, TCSAFLUSH, &settings)
        write("\n")
    }

    /// Waits for input. Delivers signals that arrive meanwhile.
    ///
    /// If the program was stopped and continued, the prompt is shown again.
    func waitForInput(question: String) throws(TokenKeepError) {
        while true {
            var pollers = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signalDescriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&pollers, 2, -1) > 0 else {
                if errno == EINTR { continue }
                throw QuietTerminal.failure()
            }
            let signal = tokenkeep_next_signal(signalDescriptor)
            if signal == 0 { return }
            restore()
            raise(signal)
            pthread_sigmask(SIG_SETMASK, &signalsBefore, nil)  // the signal takes effect here
            pthread_sigmask(SIG_BLOCK, &heldSignals, nil)
            try silence()
            write(question)
        }
    }

    /// Reads the typed bytes directly into `bytes`, and returns their number.
    func read(into bytes: UnsafeMutableRawBufferPointer) throws(TokenKeepError) -> Int {
        while true {
            let received = Glibc.read(descriptor, bytes.baseAddress, bytes.count)
            if received > 0 { return received }
            if received == 0 { throw TokenKeepError(.cancelled, "the terminal was closed") }
            guard errno == EINTR else { throw QuietTerminal.failure() }
        }
    }

    /// Whether there is unread input.
    var hasInput: Bool {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, 0) > 0
    }

    /// Writes text to the terminal. Ignores errors, because a terminal that cannot be written to may still be readable.
    func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Terminal.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    private static func failure() -> TokenKeepError {
        let words =
            errno == ENOTTY
            ? "there is no terminal on which to ask" : "the terminal cannot be used: \(Terminal.describe(errno: errno))"
        return TokenKeepError(.locked, words, hint: "give it on standard input")
    }
}
