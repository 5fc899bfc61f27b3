import Testing
import TokenKeepCore

@Suite struct NearestNameTests {
    @Test func aNameInAnotherCaseIsTheNearest() {
        #expect(NearestName.of("API.TEST", among: ["api.test", "api.text"]) == "api.test")
        #expect(NearestName.of("API.TEXT", among: ["api.test"]) == nil)
        #expect(NearestName.of("api.test", among: ["api.test"]) == nil)
    }

    @Test func aNameInAnotherUnicodeFormIsTheNearest() throws {
        let (composed, decomposed) = ("andr\u{E9}", "andre\u{301}")
        let nearest = try #require(NearestName.of(decomposed, among: ["andre", composed, decomposed.uppercased()]))
        #expect(nearest.utf8.elementsEqual(composed.utf8))
        // Both are there: each is the other's nearest.
        let other = try #require(NearestName.of(composed, among: [composed, decomposed]))
        #expect(other.utf8.elementsEqual(decomposed.utf8))
    }

    @Test func aMistypedNameIsFoundByItsDistance() {
        #expect(NearestName.of("anika", among: ["annika", "bob"]) == "annika")
        #expect(NearestName.of("eve", among: ["annika", "bob"]) == nil)
    }
}
