import Glibc
import TokenKeepCore

/// The number of the last signal that arrived while signals were delayed; 0 if none arrived.
nonisolated(unsafe) private var arrivedSignal: sig_atomic_t = 0

/// Delays the signals that end the program while a server's answer is pending.
///
/// If the program ended then, the answer and the new refresh token in it would be lost, and the session could not be
/// renewed any more. Several threads may delay signals at once; the last call of ``release()`` ends the delay.
package enum HeldSignals {
    private struct State {
        var holders = 0
        var held: [Int32] = []
    }

    private static let numbers = [SIGINT, SIGTERM, SIGHUP]
    private static let state = MutexGuarded(State())

    /// Begins a delay. Until ``release()``, a signal that arrives is only recorded. An ignored signal stays ignored.
    package static func hold() {
        state.withLock { state in
            state.holders += 1
            guard state.holders == 1 else { return }
            for number in numbers {
                var action = sigaction()
                sigaction(number, nil, &action)
                guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 else {
                    continue  // SIG_DFL
                }
                action.__sigaction_handler.sa_handler = { arrivedSignal = $0 }
                action.sa_flags = SA_RESTART
                sigaction(number, &action, nil)
                state.held.append(number)
            }
        }
    }

    /// Ends this caller's delay. If it was the last delay and a signal has arrived, ends the program by that signal.
    ///
    /// Does nothing if signals are not delayed.
    package static func release() {
        state.withLock { state in
            guard state.holders > 0 else { return }
            state.holders -= 1
            guard state.holders == 0 else { return }
            for number in state.held { signal(number, SIG_DFL) }
            state.held = []
            if arrivedSignal != 0 { raise(arrivedSignal) }
        }
    }
}
