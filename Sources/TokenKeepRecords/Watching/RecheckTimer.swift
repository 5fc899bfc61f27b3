import CSystemShims
import Glibc
import TokenKeepCore

/// A timer that rings in growing pauses after another vault took a watched path, because the vault's files may still be
/// copied there: no file but the log of changes tells that it was written.
final class RecheckTimer: Sendable {
    /// The pauses in milliseconds, each twice as long as the one before.
    private static let (shortest, longest): (UInt32, UInt32) = (250, 32_000)

    /// A descriptor that becomes readable when the timer rings. Owned by this object.
    let descriptor: Int32
    /// The present pause; nil while the timer stands still.
    private let pause = MutexGuarded<UInt32?>(nil)

    /// - Throws: ``Status/io`` if there are too few descriptors.
    init() throws(TokenKeepError) {
        descriptor = tokenkeep_timer_open()
        guard descriptor >= 0 else { throw ChangeNotifier.failure(.tooManyOpenFiles) }
    }

    deinit { close(descriptor) }

    /// Begins with the shortest pause.
    func begin() {
        pause.withLock { pause in
            pause = RecheckTimer.shortest
            tokenkeep_timer_set(descriptor, RecheckTimer.shortest)
        }
    }

    /// Begins again if the timer has not ended, because files were still changing.
    func beginAgain() {
        guard pause.withLock({ $0 }) != nil else { return }
        begin()
    }

    /// Whether the timer has rung since the last call.
    ///
    /// - Parameter endless: whether the longest pause is repeated.
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
