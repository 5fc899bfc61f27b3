import TokenKeepCore

extension SessionResponse {
    /// Longer waits are not believed: a day.
    private static let longestWait: Int64 = 86_400

    /// The seconds for which the server asks to be left alone, by its header Retry-After; nil if it does not say.
    func wait(serverTime: Int64) -> Int64? {
        header("Retry-After").flatMap { HTTPDate.delay($0, now: serverTime) }.map { min($0, Self.longestWait) }
    }
}

extension SessionNote {
    /// Notes that the server asks to wait: 30 seconds if it does not say how long, doubled each time up to an hour.
    mutating func coolDown(_ seconds: Int64?, now: SessionTime) {
        let doubled = min(3600, Int64(30) << Int64(min(coolDowns, 7)))
        coolDownUntil = now.wall + (seconds ?? doubled)
        coolDowns = seconds == nil ? min(coolDowns, 7) + 1 : 0
    }

    /// Seconds until the server may be asked again; nil if it may be asked now.
    func coolDown(at now: SessionTime) -> Int64? {
        let left = coolDownUntil.subtractingReportingOverflow(now.wall)
        // A clock that was set back must not lengthen the wait beyond what the server may ask for.
        guard !left.overflow, left.partialValue > 0, left.partialValue <= 86_400 else { return nil }
        return left.partialValue
    }

    /// The error of a call during a cool-down.
    static func coolingDown(_ seconds: Int64) -> TokenKeepError {
        TokenKeepError(
            .unavailable, "the server asked to wait \(seconds) s more before it is asked again", hint: "try again then")
    }
}
