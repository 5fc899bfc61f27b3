import CTestClock
import Glibc
import TokenKeepCore

/// Limits that must end a call. Only suites whose name ends in `MovedClockTests` pass them.
extension TestClock {
    /// What a call answered, and how long it took by the clock.
    public struct Outcome<Answer> {
        /// The call's answer.
        public let answer: Answer
        /// By the clock that the test moved.
        public let duration: Duration

        /// Whether the call took as long as its limit, and ended before another minute passed.
        public func took(milliseconds: UInt32) -> Bool {
            duration >= .milliseconds(milliseconds)
                && duration < .milliseconds(milliseconds) + .milliseconds(Patience.milliseconds)
        }
    }

    /// Runs a call until its limit ends it.
    ///
    /// Once the peer has the call's message, the clock shows one after the other each moment for which this process waits.
    ///
    /// - Parameters:
    ///   - isWaiting: whether the peer has the message. The call fails the test if it ends before.
    ///   - seconds: how far the clock goes at a time; nil to the next moment for which a thread waits. A call that can be
    ///     cancelled waits for very many moments: the clock goes at least 0.1 s, and a quarter of the time that has passed.
    ///   - call: what runs meanwhile, on this thread. The clock goes on only while this thread waits: a thread that the
    ///     machine lets stand has not met its limit later than it did.
    public static func passLimits<Answer>(
        when isWaiting: @escaping @Sendable () -> Bool = { true }, by seconds: Double? = nil,
        of call: () throws -> Answer
    ) throws -> Outcome<Answer> {
        let mover = try LimitMover(seconds, isWaiting, caller: TestThread.ownFolder())
        defer { mover.stop() }
        let answer = try call()
        return try mover.outcome(answer)
    }

    /// Runs an asynchronous call until its limit ends it. The clock goes on only while all threads of the process wait.
    public static func passLimits<Answer>(
        when isWaiting: @escaping @Sendable () -> Bool = { true }, by seconds: Double? = nil,
        isolation: isolated (any Actor)? = #isolation, of call: () async throws -> Answer
    ) async throws -> Outcome<Answer> {
        let mover = try LimitMover(seconds, isWaiting, caller: nil)
        defer { mover.stop() }
        let answer = try await call()
        return try mover.outcome(answer)
    }

    /// Sets the clock forward. Returns once no thread of this process waits for a moment that has passed.
    static func pass(seconds: Int64) {
        guard let page = test_clock_of_environment() else { return }
        test_clock_advance(page, seconds * 1_000_000_000)
        _ = Patience.wait { test_clock_next_deadline(page, getpid(), 0) > test_clock_now(page) }
    }

    /// Lets the clock nearly stand while `body` runs: the shortest limits end only if the test passes them.
    public static func standing<Result>(_ body: () throws -> Result) throws -> Result {
        guard let page = test_clock_of_environment() else { throw NoClock() }
        let slowness = page.pointee.slowness
        test_clock_set_slowness(page, 100 * max(slowness, 1))
        defer { test_clock_set_slowness(page, slowness) }
        return try body()
    }
}

/// A thread that moves the clock while a call waits.
private final class LimitMover {
    private let page: UnsafeMutablePointer<test_clock_page>
    private let start: Int64
    private let isOver = MutexGuarded(false)
    private let hasWaited = MutexGuarded(false)
    private let thread: TestThread

    /// - Parameter caller: the kernel's directory of the thread that calls; nil if the call has no thread of its own.
    init(_ seconds: Double?, _ isWaiting: @escaping @Sendable () -> Bool, caller: String?) throws {
        guard let page = test_clock_of_environment() else { throw NoClock() }
        self.page = page
        start = test_clock_now(page)
        thread = TestThread { [isOver, hasWaited, start] in
            _ = Patience.wait {
                let waits = isWaiting()
                hasWaited.withLock { $0 = waits }
                return waits || isOver.withLock { $0 }
            }
            while !Patience.wait(until: { isOver.withLock { $0 } || LimitMover.move(seconds, since: start, caller) }) {}
        }
    }

    /// Moves the clock if a thread of this process has waited for a while. Returns false: the call may still wait.
    private static func move(_ seconds: Double?, since start: Int64, _ caller: String?) -> Bool {
        guard let page = test_clock_of_environment() else { return true }
        guard caller.map(TestThread.isAsleep) ?? TestThread.othersAreAsleep else { return false }
        let next = test_clock_next_deadline(page, getpid(), Int32(TEST_CLOCK_ROUNDS))
        let now = test_clock_now(page)
        guard next != .max, next > now else { return false }
        test_clock_advance(page, seconds.map { Int64($0 * 1e9) } ?? max(next - now, 100_000_000, (now - start) / 4))
        return false
    }

    func outcome<Answer>(_ answer: Answer) throws -> TestClock.Outcome<Answer> {
        let duration = Duration.nanoseconds(test_clock_now(page) - start)
        guard hasWaited.withLock({ $0 }) else {
            throw HarnessFailure(message: "the call ended before its peer had the message")
        }
        return TestClock.Outcome(answer: answer, duration: duration)
    }

    func stop() {
        isOver.withLock { $0 = true }
        thread.join()
    }
}

/// The tests were started without the clock.
private struct NoClock: Error, CustomStringConvertible {
    let description = "there is no test clock: start the tests by `make test-swift`, or by Tests/Support/Clock/run.sh"
}
