import Glibc
import TokenKeepCore

/// The signals and the pipes of this process for the programs of others. Several threads may run programs at a time.
enum ProgramStarts {
    private typealias Handler = __sighandler_t
    private struct State {
        var count = 0
        var previous: [Int32: Handler?] = [:]
    }

    private static let state = MutexGuarded(State())
    private static let pipes = MutexGuarded(())

    /// Ignores SIGPIPE, and takes SIGCHLD as its default, until ``end()`` of the last program that runs.
    static func begin() {
        state.withLock { state in
            state.count += 1
            guard state.count == 1 else { return }
            state.previous = [SIGPIPE: signal(SIGPIPE, SIG_IGN), SIGCHLD: signal(SIGCHLD, SIG_DFL)]
        }
    }

    /// Restores what the signals did before the first ``begin()``.
    static func end() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            for (number, handler) in state.previous { signal(number, handler) }
            state.previous = [:]
        }
    }

    /// Makes a pipe, or starts a program: one at a time, so that no program inherits a pipe before it is marked.
    static func alone<Result>(_ body: () throws(TokenKeepError) -> Result) throws(TokenKeepError) -> Result {
        try pipes.withLock { (_) throws(TokenKeepError) in try body() }
    }
}
