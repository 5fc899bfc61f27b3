import TestSupport
import Testing
import TokenKeepCore

struct LimitedWorkTests {
    @Test func workThatEndsInTimeGivesItsValue() {
        #expect(LimitedWork.run(milliseconds: Patience.milliseconds) { 7 } == 7)
    }
}
