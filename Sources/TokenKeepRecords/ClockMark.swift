import Glibc
import TokenKeepCore
import TokenKeepKeys

/// The state of the machine's clocks at one time. Two states show whether the wall clock was set back between them.
package struct ClockMark: Sendable, Equatable {
    /// A hash of the boot id, which changes at each start of the machine; 16 bytes.
    package let boot: [UInt8]
    /// The wall-clock time minus the time since the machine's start, in milliseconds.
    package let offset: Int64

    package static let bootLength = 16
    /// The tolerated step back, in milliseconds. A smaller step does not count as setting the clock back, because NTP
    /// often makes such steps.
    private static let toleratedMilliseconds: Int64 = 1000

    /// Makes a state of the clocks.
    ///
    /// - Parameter boot: the hash of the boot id, 16 bytes.
    package init(boot: [UInt8], offset: Int64) {
        self.boot = boot
        self.offset = offset
    }

    /// The current state of the machine's clocks.
    package static var now: ClockMark {
        ClockMark(boot: start, offset: milliseconds(CLOCK_REALTIME) - milliseconds(CLOCK_BOOTTIME))
    }

    /// The result of comparing two states of the clocks.
    package enum Order: Sendable {
        /// The wall clock was not set back: the later state also has the later wall-clock time.
        case kept
        /// The machine was restarted between the two states, so their times cannot be compared.
        case unknown
        /// The wall clock was set back between the two states.
        case setBack
    }

    /// Compares this state of the clocks with a later state, and tells whether the wall clock was set back between
    /// them.
    package func order(until later: ClockMark) -> Order {
        guard boot == later.boot else { return .unknown }
        let (least, isOver) = offset.subtractingReportingOverflow(ClockMark.toleratedMilliseconds)
        return isOver || later.offset > least ? .kept : .setBack
    }

    /// A hash of `/proc/sys/kernel/random/boot_id` (random(4)).
    ///
    /// If the file cannot be read, the hash is random, so that states of two processes always compare as
    /// ``Order/unknown``.
    private static let start: [UInt8] = {
        var text = [UInt8](repeating: 0, count: 36)
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, read(descriptor, &text, text.count) == text.count else {
            return RandomBytes.make(bootLength)
        }
        return text.withUnsafeBytes { KeyedHash.digest(of: $0, count: bootLength) }
    }()

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
