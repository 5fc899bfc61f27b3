import Testing
import TokenKeepSession

struct HTTPDateTests {
    /// The three forms of RFC 9110 section 5.6.7, and zones that servers write.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 UTC",
    ])
    func aDateHasThreeForms(text: String) { #expect(HTTPDate.seconds(text, now: 1_800_000_000) == 784_111_777) }

    @Test(arguments: [
        "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 +0100",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-9x 08:49:37 GMT", "Sun Nov 32 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "1994-11-06T08:49:37Z",
    ])
    func otherTextIsNoDate(text: String) { #expect(HTTPDate.seconds(text) == nil) }

    /// A year of two digits lies at most 50 years in the future.
    @Test(arguments: [
        ("76", 2027, 2076), ("77", 2027, 2077), ("78", 2027, 1978), ("27", 2027, 2027), ("26", 2027, 2026),
        ("01", 2099, 2101), ("48", 2099, 2148), ("50", 2099, 2050),
    ])
    func aYearOfTwoDigitsIsNearThePresent(digits: String, present: Int, year: Int) throws {
        let now = try #require(HTTPDate.seconds("Fri, 15 Jan \(present) 00:00:00 GMT"))
        let found = HTTPDate.seconds("Friday, 15-Jan-\(digits) 00:00:00 GMT", now: now)
        #expect(found == HTTPDate.seconds("Fri, 15 Jan \(year) 00:00:00 GMT"))
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max]) func aClockThatIsWrongTrapsNothing(now: Int64) {
        _ = HTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT", now: now)
        #expect(HTTPDate.delay("5", now: now) == 5)
    }
}
