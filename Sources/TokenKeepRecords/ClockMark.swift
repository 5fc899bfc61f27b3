import Glibc
import TokenKeepCore
import TokenKeepKeys

/// The state of the machine's clocks at a moment. A later mark shows whether the wall clock was set back in between.
package struct ClockMark: Sendable, Equatable {
    /// A hash of the id of the machine's start, 16 bytes.
    package let boot: [UInt8]
    /// The wall clock less the time since the machine's start, in milliseconds.
    package let offset: Int64

    package static let bootLength = 16
    /// NTP moves the wall clock by small steps all the time.
    private static let toleratedMilliseconds: Int64 = 1000

    /// A mark with a hash of 16 bytes.
    package init(boot: [UInt8], offset: Int64) {
        self.boot = boot
        self.offset = offset
    }

    /// The clocks now.
    package static var now: ClockMark {
        ClockMark(boot: start, offset: milliseconds(CLOCK_REALTIME) - milliseconds(CLOCK_BOOTTIME))
    }

    /// The order of times of the wall clock between two marks.
    package enum Order: Sendable {
        /// A later moment has a later time.
        case kept
        /// The machine was started anew in between: the clocks cannot be compared.
        case unknown
        /// The wall clock was set back.
        case setBack
    }

    /// The order of times from this mark to a later one.
    package func order(until later: ClockMark) -> Order {
        guard boot == later.boot else { return .unknown }
        let (least, isOver) = offset.subtractingReportingOverflow(ClockMark.toleratedMilliseconds)
        return isOver || later.offset > least ? .kept : .setBack
    }

    /// The hash of `/proc/sys/kernel/random/boot_id` (random(4)); random if the file cannot be read, so that no two
    /// processes rely on each other's clocks.
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
