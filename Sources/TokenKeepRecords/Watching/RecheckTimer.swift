import CSystemShims
import Glibc
import TokenKeepCore

/// A timer that fires at growing intervals after another vault appeared at a watched path.
///
/// The files of that vault may still be being copied, and a watch reports only changes of the log of changes.
final class RecheckTimer: Sendable {
    /// The shortest and the longest interval, in milliseconds. Each interval is twice as long as the previous one.
    private static let (shortest, longest): (UInt32, UInt32) = (250, 32_000)

    /// A descriptor that becomes readable when the timer fires. Owned by this object.
    let descriptor: Int32
    /// The current interval in milliseconds; nil while the timer is stopped.
    private let pause = MutexGuarded<UInt32?>(nil)

    /// - Throws: ``Status/io`` if the process has too many open descriptors.
    init() throws(TokenKeepError) {
        descriptor = tokenkeep_timer_open()
        guard descriptor >= 0 else { throw ChangeNotifier.failure(.tooManyOpenFiles) }
    }

    deinit { close(descriptor) }

    /// Starts the timer with the shortest interval.
    func begin() {
        pause.withLock { pause in
            pause = RecheckTimer.shortest
            tokenkeep_timer_set(descriptor, RecheckTimer.shortest)
        }
    }

    /// Restarts the timer with the shortest interval if it is running, because files were still changing.
    func beginAgain() {
        guard pause.withLock({ $0 }) != nil else { return }
        begin()
    }

    /// Whether the timer has fired since the last call. Starts the next interval.
    ///
    /// - Parameter endless: whether the timer repeats the longest interval instead of stopping after it.
    func hasRung(endless: Bool) -> Bool {
        pause.withLock { pause in
            guard let present = pause, tokenkeep_timer_has_passed(descriptor) != 0 else { return false }
            let next = min(2 * present, RecheckTimer.longest)
            pause = present < next || endless ? next : nil
            tokenkeep_timer_set(descriptor, pause ?? 0)
            return true
        }
    }
}
