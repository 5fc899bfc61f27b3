import CTestClock

/// How long tests wait on a machine however busy.
///
/// A test of a deadline gives the code under test a short deadline, and fails if the call ends later than
/// ``Patience/limit``: whoever ignores the deadline waits for a peer that never answers.
public enum Patience {
    /// The longest that a call which obeys its deadline may take.
    public static let limit = Duration.seconds(20)
    /// The deadline of calls that must succeed, in milliseconds.
    public static let milliseconds: UInt32 = 60_000
    /// How far a test sets the clock to end such a call at once, in seconds.
    public static let beyond = Double(milliseconds) / 1000 + 1

    /// Waits for what another thread or process does in its own time, by the real clock. Returns false if it did not happen.
    public static func wait(until condition: () throws -> Bool) rethrows -> Bool {
        let end = test_clock_real_now() + Int64(milliseconds) * 1_000_000
        while try !condition() {
            guard test_clock_real_now() < end else { return false }
            test_clock_real_pause(1_000_000)
        }
        return true
    }
}
