import TokenKeepCore

/// Keeps callers from waiting for a service that is known not to answer.
///
/// It opens when a deadline passes without an answer. It closes when the late answer comes, when the bus says that the
/// service changed, or when the service answers a Ping and has been left alone for a while: libraries answer a Ping
/// for a program whose main loop hangs.
final class Breaker: Sendable {
    private struct Silence {
        var unanswered: Set<UInt32>
        var ping: UInt32?
        var rest: Deadline
    }

    private let silence = Guarded<Silence?>(nil)
    private let restMilliseconds: UInt32

    init(restMilliseconds: UInt32 = 5000) { self.restMilliseconds = restMilliseconds }

    /// - Throws: ``Status/unavailable`` while the breaker is open.
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

    /// Opens, unless it is open already.
    ///
    /// - Parameters:
    ///   - unanswered: the serials of the messages that were not answered.
    ///   - ping: sends a Ping and returns its serial; nil where there is nowhere to send it.
    func open(unanswered: some Sequence<UInt32>, ping: () -> UInt32?) {
        silence.withLock { silence in
            guard silence == nil else { return }
            // Sent under the lock: its answer may be here before this returns.
            silence = Silence(
                unanswered: Set(unanswered), ping: ping(), rest: Deadline(milliseconds: restMilliseconds))
        }
    }

    /// Notes the answer to a message; called on the connection's own thread.
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

    /// Closes: what did not answer is gone.
    func close() { silence.withLock { $0 = nil } }
}
