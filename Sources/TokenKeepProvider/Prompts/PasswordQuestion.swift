import CSystemShims
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// Asks the user for the vault's password by means of pinentry.
///
/// The question ends when the client ends or leaves the foreground of its terminal, and at ``end()``.
final class PasswordQuestion: Sendable {
    enum Outcome: Sendable {
        case unlocked
        case dismissed
        case failed(TokenKeepError)
    }

    private struct State {
        var isEnded = false
        var process: pid_t?
    }

    private let state = MutexGuarded(State())
    private let program: String
    private let caller: CallingProgram
    private let text: String
    private static let attempts = 3

    /// Makes a question. ``ask(_:)`` shows it.
    ///
    /// - Parameters:
    ///   - program: the path of pinentry.
    ///   - text: the question, one line.
    init(program: String, caller: CallingProgram, text: String) {
        self.program = program
        self.caller = caller
        self.text = text
    }

    /// Ends the question by SIGINT to pinentry, which restores the terminal.
    func end() {
        state.withLock { state in
            state.isEnded = true
            if let process = state.process { kill(process, SIGINT) }
        }
    }

    /// Asks the user, and unlocks the vault with the answer. Blocks the calling thread until the question has ended.
    func ask(_ store: Store) -> Outcome {
        do throws(TokenKeepError) {
            let dialog = try start()
            defer { stop(dialog) }
            return try converse(dialog, store)
        } catch {
            return error.status == .cancelled ? .dismissed : .failed(error)
        }
    }

    private func start() throws(TokenKeepError) -> PinentryDialog {
        let variables =
            caller.environment.filter { $0.key != "TERM" }.map { "\($0.key)=\($0.value)" } + ["PATH=/usr/bin:/bin"]
        var options = tokenkeep_start_options()
        (options.input, options.output, options.errors) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE, TOKENKEEP_NOTHING)
        (options.has_own_session, options.is_apart) = (1, 1)
        // pinentry restores the terminal after SIGINT, but not after SIGTERM or SIGHUP.
        options.death_signal = SIGINT
        options.descriptor_limit = tokenkeep_former_limit()
        let pinentry: RunningProgram
        do throws(RunningProgram.StartFailure) {
            pinentry = try RunningProgram([program], environment: variables, options)
        } catch {
            throw TokenKeepError(.unavailable, "\(program) cannot be run: \(Bus.describe(error.number))")
        }
        state.withLock { state in
            state.process = pinentry.process
            if state.isEnded { kill(pinentry.process, SIGINT) }
        }
        return PinentryDialog(pinentry)
    }

    private func stop(_ dialog: PinentryDialog) {
        // After pinentry's end, its process id may belong to another process, so from here on only this thread signals
        // pinentry. The lock is not held during `close()`, because the bus thread takes the lock.
        state.withLock { $0.process = nil }
        dialog.close()
    }

    private func converse(_ dialog: PinentryDialog, _ store: Store) throws(TokenKeepError) -> Outcome {
        let deadline = Deadline(milliseconds: UnlockPrompt.limit)
        let isOver: () -> Bool = { [self] in
            deadline.hasPassed || !caller.isWaiting || state.withLock { $0.isEnded }
        }
        try dialog.greet(isOver)
        for option in options { try dialog.set("OPTION \(option)", isOver, isOptional: true) }
        try dialog.set("SETTITLE TokenKeep", isOver, isOptional: true)
        // Escape "%", because a program whose name contains "%0A" could otherwise add lines to the question.
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        try dialog.set("SETDESC \(parts.joined(separator: "%25"))", isOver)
        try dialog.set("SETPROMPT Password:", isOver)
        for attempt in 1...PasswordQuestion.attempts {
            if attempt > 1 { try dialog.set("SETERROR The password is wrong", isOver, isOptional: true) }
            let password = try dialog.password(isOver)
            do throws(TokenKeepError) {
                try store.unlock(password, until: store.longDeadline)
                return .unlocked
            } catch {
                guard error.status == .denied else { throw error }
            }
        }
        return .dismissed
    }

    /// The options for pinentry, which name the terminal on which it asks. They also set a UTF-8 locale, which text on
    /// a terminal needs.
    private var options: [String] {
        var options = ["no-grab"]
        guard let terminal = caller.terminal else { return options }
        options.append("ttyname=\(terminal)")
        if let type = caller.environment["TERM"], !type.isEmpty, !type.utf8.contains(where: { $0 <= 0x20 }) {
            options.append("ttytype=\(type)")
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { caller.environment[$0] }.first { !$0.isEmpty } ?? ""
        let isUnicode = locale.lowercased().hasSuffix("utf-8") || locale.lowercased().hasSuffix("utf8")
        options.append("lc-ctype=\(isUnicode ? locale : "C.UTF-8")")
        return options
    }
}
