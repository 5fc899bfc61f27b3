import TestSupport
import Testing

@testable import TokenKeep

@Suite struct WorkerThreadsMovedClockTests {
    /// The wall clock is an hour ahead, as after a step: idle threads do not wait for it.
    @Test func anIdleThreadEndsByTheMonotonicClock() throws {
        try TestClock.setWall(seconds: 3600)
        defer { try? TestClock.setWall(seconds: 0) }
        let pool = WorkerThreads(limit: 1)
        #expect(pool.run {})
        #expect(Patience.wait { pool.idleCount == 1 })
        try TestClock.advance(seconds: 10)
        #expect(Patience.wait { pool.threadCount == 0 })
    }
}
