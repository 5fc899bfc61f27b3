import Glibc
import TestSupport
import Testing
import TokenKeepCore

struct LimitedWorkMovedClockTests {
    @Test func workThatDoesNotEndIsLeft() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let hasBegun = MutexGuarded(false)
        let outcome = try TestClock.passLimits(when: { hasBegun.withLock { $0 } }) {
            LimitedWork.run(milliseconds: Patience.milliseconds) { () -> Int in
                hasBegun.withLock { $0 = true }
                var byte: UInt8 = 0
                return read(reader, &byte, 1)
            }
        }
        #expect(outcome.answer == nil)
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        close(writer)
    }

    @Test func aValueThatDoesNotComeIsNotWaitedForAnyLonger() throws {
        let outcome = try TestClock.passLimits {
            LimitedWork<Int>.value(withinMilliseconds: Patience.milliseconds) { _ in }
        }
        #expect(outcome.answer == nil)
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        #expect(LimitedWork.value(withinMilliseconds: Patience.milliseconds) { finish in finish(7) } == 7)
    }
}
