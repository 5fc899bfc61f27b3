import Testing
import TokenKeepCore

@Suite struct ModuleNameTests {
    @Test(arguments: ["a", "secret-service", "a.b_c-9", ".hidden", String(repeating: "a", count: 64)])
    func aNameOfTheAllowedBytesIsValid(name: String) {
        #expect(ModuleName.isValid(name))
    }

    @Test(arguments: ["", "A", "a b", "a/b", "ä", "a\0", String(repeating: "a", count: 65)])
    func anyOtherNameIsNot(name: String) {
        #expect(!ModuleName.isValid(name))
        #expect(!ModuleName.isValidFileName(name))
    }

    @Test func aFileNameDoesNotBeginWithADot() {
        #expect(ModuleName.isValidFileName("a.b"))
        #expect(!ModuleName.isValidFileName(".a"))
        #expect(!ModuleName.isValidFileName(".."))
    }
}
