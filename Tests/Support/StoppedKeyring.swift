import TokenKeepCore

/// Calls that find the keyring stopped. Only suites whose name ends in `MovedClockTests` make them.
extension PrivateKeyring {
    /// Runs a call. The keyring is stopped until the bus has passed a message of the call on, and a second has passed then:
    /// longer than a probe lasts. Else the clock nearly stands.
    public func stopped<Answer>(during call: () throws -> Answer) throws -> Answer {
        let monitor = try BusMonitor(bus)
        freeze(true)
        let wasCalled = MutexGuarded(false)
        let waker = TestThread { [self] in
            let isCalled = Patience.wait { monitor.hasPassedCalls }
            wasCalled.withLock { $0 = isCalled }
            TestClock.pass(seconds: 1)
            freeze(false)
        }
        let answer = Result { try TestClock.standing(call) }
        waker.join()
        guard wasCalled.withLock({ $0 }) else { throw HarnessFailure(message: "the call did not ask the keyring") }
        return try answer.get()
    }

    /// Runs a call until its limits end it, because the keyring has its message and is stopped.
    public func hung<Answer>(during call: () throws -> Answer) throws -> TestClock.Outcome<Answer> {
        let monitor = try BusMonitor(bus)
        freeze(true)
        defer { freeze(false) }
        return try TestClock.passLimits(when: { monitor.hasPassedCalls }, of: call)
    }
}
