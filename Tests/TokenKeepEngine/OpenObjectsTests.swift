import Testing

@testable import TokenKeepEngine

@Suite struct OpenObjectsTests {
    private final class Numbered: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test func objectsThatExistAreListedInTheirOrder() {
        let objects = OpenObjects()
        let kept = (0..<1000).map(Numbered.init)
        for object in kept {
            objects.add(object)
            objects.add(Numbered(-1))
        }
        #expect(objects.all.compactMap { ($0 as? Numbered)?.number } == Array(0..<1000))
        #expect(objects.count <= 2000)
    }

    /// A program that opens sessions all day has few of them at a time.
    @Test func objectsThatAreGoneLeaveNothing() {
        let objects = OpenObjects()
        for number in 0..<10_000 { objects.add(Numbered(number)) }
        #expect(objects.all.isEmpty)
        #expect(objects.count <= 64)
    }
}
