import Glibc

/// The number of the signal that arrived while signals were held back; 0 if none did.
nonisolated(unsafe) private var arrivedSignal: sig_atomic_t = 0
/// The signals that are held back. Used by the thread of the command alone.
nonisolated(unsafe) private var heldSignals: [Int32] = []

/// Holds back the signals that end the program while an answer of the server is under way: it would be lost, and with
/// it the session.
enum HeldSignals {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    /// From now on, a signal is noted alone. An ignored signal stays ignored.
    static func hold() {
        for number in numbers {
            var action = sigaction()
            sigaction(number, nil, &action)
            guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0 else { continue }  // SIG_DFL
            action.__sigaction_handler.sa_handler = { arrivedSignal = $0 }
            action.sa_flags = SA_RESTART
            sigaction(number, &action, nil)
            heldSignals.append(number)
        }
    }

    /// Ends the program by the signal that arrived meanwhile, if one did.
    static func release() {
        for number in heldSignals { signal(number, SIG_DFL) }
        heldSignals = []
        if arrivedSignal != 0 { raise(arrivedSignal) }
    }
}
