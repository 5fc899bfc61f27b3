/// Decides about the times of tokens. Reads no clock, no file and no network.
enum TokenRules {
    /// The times of a session that make a look at it worthwhile: Unix seconds, 0 if unknown.
    struct Times: Equatable {
        var refreshAt: Int64 = 0
        var expiresAt: Int64 = 0
        var coolDownUntil: Int64 = 0
    }

    /// Farther times are of no interest, in seconds.
    private static let horizon: Int64 = 360

    /// Seconds until the next look at a session.
    ///
    /// After an answer that was none, the next request waits for the end of the access token, or of the pause.
    static func nextLook(_ times: Times, at now: Int64) -> Int64 {
        let due = [times.refreshAt, times.expiresAt, times.coolDownUntil].filter { $0 > now }.min()
        // One second more: the times are whole seconds, rounded down.
        return min(horizon, (due ?? now + horizon).subtractingReportingOverflow(now).partialValue) + 1
    }
}
