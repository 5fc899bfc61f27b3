import Glibc
import TokenKeepCore

/// The number of the signal that arrived while signals were held back; 0 if none did.
nonisolated(unsafe) private var arrivedSignal: sig_atomic_t = 0

/// Holds back the signals that end the program while an answer of the server is under way: it would be lost, and with
/// it the session. Safe from several threads: the last one ends the holding.
package enum HeldSignals {
    private struct State {
        var holders = 0
        var held: [Int32] = []
    }

    private static let numbers = [SIGINT, SIGTERM, SIGHUP]
    private static let state = MutexGuarded(State())

    /// From now on, a signal is noted alone. An ignored signal stays ignored.
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

    /// Ends the program by the signal that arrived meanwhile, if one did and nobody else holds it back. Does nothing if
    /// nobody does.
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
