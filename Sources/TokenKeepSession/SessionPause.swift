import Glibc
import TokenKeepCore

extension SessionOptions {
    private static let slice: UInt32 = 50

    /// Waits so many milliseconds, whatever signals arrive; less if the call is cancelled or its deadline passes.
    static let sleep: @Sendable (UInt32, Deadline) -> Void = { milliseconds, deadline in
        let end = Deadline(milliseconds: milliseconds)
        while !end.hasPassed, !deadline.hasPassed {
            let left = min(slice, end.remainingMilliseconds)
            var time = timespec(tv_sec: 0, tv_nsec: Int(left) * 1_000_000)
            nanosleep(&time, nil)
        }
    }
}
