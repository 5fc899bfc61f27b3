import Glibc
import Testing
import TokenKeepCore

struct LimitedWorkTests {
    @Test func workThatEndsInTimeGivesItsValue() {
        #expect(LimitedWork.run(milliseconds: 10_000) { 7 } == 7)
    }

    @Test func workThatDoesNotEndIsLeft() {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let value = LimitedWork.run(milliseconds: 1) { () -> Int in
            var byte: UInt8 = 0
            return read(reader, &byte, 1)
        }
        #expect(value == nil)
        close(writer)
    }
}
