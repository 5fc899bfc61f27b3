import CTestClock

/// How long tests wait on a machine however busy.
public enum Patience {
    /// The end of a wait in vain, by the real clock, in seconds: the same as in Python, C and scripts.
    public static let seconds = Int64(TEST_PATIENCE_S)
    /// The deadline of calls that must succeed, in milliseconds by the tests' clock.
    public static let milliseconds = UInt32(TEST_PATIENCE_S) * 1000
    /// How far a test sets the clock to end such a call at once, in seconds.
    public static let beyond = Double(milliseconds) / 1000 + 1

    /// Waits for what another thread or process does in its own time, by the real clock. Returns false if it did not happen.
    public static func wait(until condition: () throws -> Bool) rethrows -> Bool {
        let end = test_clock_real_now() + seconds * 1_000_000_000
        while try !condition() {
            guard test_clock_real_now() < end else { return false }
            test_clock_real_pause(1_000_000)
        }
        return true
    }
}
