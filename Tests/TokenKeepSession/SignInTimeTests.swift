import Testing

@testable import TokenKeepSession

/// When a session began, as its note says it (docs/format.md, 0x8005 and 0x8006).
struct SignInTimeTests {
    private func signedIn(_ seconds: Int64, _ milliseconds: UInt32) throws -> Int64? {
        var note = SessionNote()
        note.signedInAt = seconds
        note.signedInMilliseconds = milliseconds
        return try SessionNote(note.serialized()).signedIn
    }

    @Test func aNoteKeepsTheMilliseconds() throws {
        #expect(try signedIn(1_800_000_000, 7) == 1_800_000_000_007)
        #expect(try signedIn(1_800_000_000, 0) == 1_800_000_000_000)
    }

    @Test func moreThanASecondCountsAsItsEnd() throws {
        #expect(try signedIn(1_800_000_000, 1_000) == 1_800_000_000_999)
        #expect(try signedIn(1_800_000_000, .max) == 1_800_000_000_999)
    }

    @Test(arguments: [Int64.max, .min]) func aTimeBeyondAllMillisecondsIsUnknown(seconds: Int64) throws {
        #expect(try signedIn(seconds, 999) == nil)
    }

    @Test func withoutASecondTheTimeIsUnknown() throws {
        #expect(try signedIn(0, 7) == nil)
    }

    @Test func theMillisecondsAreThoseOfTheGivenSecond() {
        let now = SessionTime.now.wall
        #expect(SessionTime.milliseconds(since: now + 3600) == 0)
        #expect(SessionTime.milliseconds(since: now - 3600) == 999)
    }
}
