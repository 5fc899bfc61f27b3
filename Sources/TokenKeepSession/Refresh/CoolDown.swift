import TokenKeepCore

extension SessionResponse {
    /// The seconds for which the server asks to be left alone, by its header Retry-After; nil if it does not say.
    func wait(serverTime: Int64) -> Int64? {
        header("Retry-After").flatMap { HTTPDate.delay($0, now: serverTime) }.map { min($0, AnswerRules.longestWait) }
    }
}

extension SessionNote {
    /// Notes an answer without tokens, and how long no process asks the server again.
    ///
    /// - Parameter problem: the server's words, or the fault of its answer.
    mutating func coolDown(after failure: AnswerRules.Failure, _ problem: String, now: SessionTime) {
        coolDownUntil = now.wall + AnswerRules.pause(after: failure, earlierFailures: Int(coolDowns))
        coolDowns = min(coolDowns, 100) + 1
        self.problem = problem
    }

    /// Forgets the failures before an answer with tokens.
    mutating func endCoolDown() {
        coolDownUntil = 0
        coolDowns = 0
        problem = ""
    }

    /// Seconds until the server may be asked again; nil if it may be asked now.
    func coolDown(at now: SessionTime) -> Int64? {
        let left = coolDownUntil.subtractingReportingOverflow(now.wall)
        // A clock that was set back must not lengthen the wait beyond what the server may ask for.
        guard !left.overflow, left.partialValue > 0, left.partialValue <= AnswerRules.longestWait else { return nil }
        return left.partialValue
    }

    /// The error of a call during a cool-down.
    func coolingDown(_ seconds: Int64) -> TokenKeepError {
        let reason = problem.isEmpty ? "it asks to wait" : problem
        return TokenKeepError(
            .unavailable, "the server is not asked for \(seconds) s more: \(reason)", hint: "try again then")
    }
}
