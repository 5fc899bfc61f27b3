import TokenKeepCore

extension SessionOptions {
    private static let slice: UInt32 = 50

    /// Sleeps for a number of milliseconds, even if signals arrive. Returns early if the call is cancelled or its
    /// deadline passes.
    static let sleep: @Sendable (UInt32, Deadline) -> Void = { milliseconds, deadline in
        let end = Deadline(milliseconds: milliseconds)
        while !end.hasPassed, !deadline.hasPassed {
            ShortPause.wait(milliseconds: min(slice, end.remainingMilliseconds))
        }
    }
}
