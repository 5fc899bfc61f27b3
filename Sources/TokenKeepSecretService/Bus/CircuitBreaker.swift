import TokenKeepCore

/// Rejects this process's calls early while the service is known not to answer.
///
/// The breaker opens when a deadline passes without an answer. Three events close it:
///
/// - the late answer arrives
/// - the bus reports that the service changed
/// - the service has answered a Ping and the rest period has passed; the Ping alone is not enough, because libraries
///   answer it for a program whose main loop hangs
///
/// ``BreakerMark`` tells other processes.
final class CircuitBreaker: Sendable {
    private struct Silence {
        var unanswered: Set<UInt32>
        var ping: UInt32?
        var rest: Deadline
    }

    private let silence = MutexGuarded<Silence?>(nil)
    private let restMilliseconds: UInt32

    init(restMilliseconds: UInt32 = 5000) { self.restMilliseconds = restMilliseconds }

    /// Throws while the breaker is open.
    ///
    /// - Throws: ``Status/unavailable``.
    func check() throws(TokenKeepError) {
        let isOpen = silence.withLock { silence in
            guard let present = silence else { return false }
            guard present.ping == nil, present.rest.hasPassed else { return true }
            silence = nil
            return false
        }
        guard isOpen else { return }
        throw TokenKeepError(
            .unavailable, "the Secret Service did not answer an earlier call and has not come back",
            hint: "restart the keyring daemon, or use the vault alone")
    }

    /// Opens the breaker, unless it is open already.
    ///
    /// - Parameters:
    ///   - unanswered: the serials of the unanswered messages.
    ///   - ping: sends a Ping and returns its serial; nil if the Ping cannot be sent.
    func open(unanswered: some Sequence<UInt32>, ping: () -> UInt32?) {
        silence.withLock { silence in
            guard silence == nil else { return }
            // Sent under the lock: the Ping's answer may arrive before `ping` returns.
            silence = Silence(
                unanswered: Set(unanswered), ping: ping(), rest: Deadline(milliseconds: restMilliseconds))
        }
    }

    /// Notes the answer to a message. Called on the connection's own thread.
    func heard(_ serial: UInt32) {
        silence.withLock { silence in
            guard let present = silence else { return }
            if present.unanswered.contains(serial) {
                silence = nil
            } else if present.ping == serial {
                silence?.ping = nil
            }
        }
    }

    /// Closes the breaker: the silent service is gone.
    func close() { silence.withLock { $0 = nil } }
}
