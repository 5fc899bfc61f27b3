import Glibc
import TokenKeepCore

/// Prepares signals and pipes of this process for running other programs, also on several threads at the same time.
enum ProgramStarts {
    private typealias Handler = __sighandler_t
    private struct State {
        var count = 0
        var previous: [Int32: Handler?] = [:]
    }

    private static let state = MutexGuarded(State())
    private static let pipes = MutexGuarded(())

    /// Ignores SIGPIPE, and resets SIGCHLD to its default, until ``end()`` of the last running program.
    static func begin() {
        state.withLock { state in
            state.count += 1
            guard state.count == 1 else { return }
            state.previous = [SIGPIPE: signal(SIGPIPE, SIG_IGN), SIGCHLD: signal(SIGCHLD, SIG_DFL)]
        }
    }

    /// Restores the signal dispositions that preceded the first ``begin()``.
    static func end() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            for (number, handler) in state.previous { signal(number, handler) }
            state.previous = [:]
        }
    }

    /// Runs `body`, which makes a pipe or starts a program, under a lock: no program inherits a pipe that is not yet
    /// marked close-on-exec.
    static func alone<Result>(_ body: () throws(TokenKeepError) -> Result) throws(TokenKeepError) -> Result {
        try pipes.withLock { (_) throws(TokenKeepError) in try body() }
    }
}
