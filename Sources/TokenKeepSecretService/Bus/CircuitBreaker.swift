import TokenKeepCore

/// Makes this process's calls fail at once while the service is known not to answer.
///
/// The breaker opens when a call's deadline passes without an answer, unless the call waited for less than
/// ``BusConnection/hasty``. Each of four events closes the breaker:
///
/// - The late answer arrives.
/// - The service answers the probe of a load that found a pending change.
/// - The bus reports that the service's name has another owner.
/// - The rest period has passed, and the service has answered a Ping. The Ping alone is not enough, because libraries
///   answer Pings even while the main loop of their program hangs.
///
/// ``BreakerMark`` tells other processes that the breaker is open.
final class CircuitBreaker: Sendable {
    private struct Silence {
        var unanswered: Set<UInt32>
        var ping: UInt32?
        var rest: Deadline
    }

    private let silence = MutexGuarded<Silence?>(nil)
    private let restMilliseconds: UInt32

    init(restMilliseconds: UInt32 = 5000) { self.restMilliseconds = restMilliseconds }

    /// Throws ``Status/unavailable`` if the breaker is open.
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

    /// Opens the breaker because the service did not answer. Does nothing if the breaker is already open.
    ///
    /// - Parameters:
    ///   - unanswered: the serial numbers of the unanswered messages.
    ///   - ping: sends a Ping and returns its serial number; nil if the Ping could not be sent.
    func open(unanswered: some Sequence<UInt32>, ping: () -> UInt32?) {
        silence.withLock { silence in
            guard silence == nil else { return }
            // Send the Ping while the lock is held, because the answer may arrive before `ping` returns.
            silence = Silence(
                unanswered: Set(unanswered), ping: ping(), rest: Deadline(milliseconds: restMilliseconds))
        }
    }

    /// Records that the reply to a message has arrived, which may close the breaker. Called on GLib's thread of the
    /// connection.
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

    /// Closes the breaker, because the silent service no longer exists.
    func close() { silence.withLock { $0 = nil } }
}
