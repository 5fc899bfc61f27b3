import Testing
import TokenKeepCore

@Suite struct LimitsTests {
    @Test(arguments: [
        (0, 1, 0), (0, 255, 0), (0, 255, 255), (64, 255, 255),
    ])
    func acceptsNamesUpToTheirLimits(namespace: Int, service: Int, account: Int) throws {
        _ = try ItemName(
            namespace: String(repeating: "n", count: namespace), service: String(repeating: "s", count: service),
            account: String(repeating: "a", count: account))
    }

    @Test(arguments: [
        (0, 0, 1, "service is empty"), (0, 256, 1, "service is longer than 255"),
        (0, 1, 256, "account is longer than 255"),
        (65, 1, 1, "namespace is longer than 64"),
    ])
    func namesTheFieldAndTheLimit(namespace: Int, service: Int, account: Int, words: String) {
        #expect {
            try ItemName(
                namespace: String(repeating: "n", count: namespace), service: String(repeating: "s", count: service),
                account: String(repeating: "a", count: account))
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .invalid && error?.message.contains(words) == true
        }
    }

    /// A limit counts bytes, not letters.
    @Test func countsBytes() {
        #expect(throws: TokenKeepError(.invalid, "")) {
            try ItemName(service: String(repeating: "é", count: 128), account: "")
        }
    }

    @Test(arguments: ["\u{0}", "\n", "\t", "\u{1B}", "\u{7F}", "\u{85}", "\u{9F}"])
    func refusesControlCharacters(character: String) {
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemName(service: "a" + character, account: "") }
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemName(service: "a", account: character) }
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemAttributes([("a", character)]) }
    }

    @Test(arguments: ["", "A", "a b", "ä", "a/b", String(repeating: "a", count: 65)])
    func refusesAttributeNames(name: String) {
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemAttributes([(name, "x")]) }
    }

    @Test func ordersAttributesAndRefusesTwins() throws {
        let attributes = try ItemAttributes([("b", "2"), ("a.x-y_1", "1")])
        #expect(attributes.pairs.map(\.name) == ["a.x-y_1", "b"])
        #expect(attributes["b"] == "2")
        #expect(attributes["c"] == nil)
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemAttributes([("a", "1"), ("a", "2")]) }
        let many = (0...32).map { ("a\($0)", "") }
        _ = try ItemAttributes(Array(many.dropLast()))
        #expect(throws: TokenKeepError(.invalid, "")) { try ItemAttributes(many) }
    }

    @Test func refusesLongLabelsAndSecrets() throws {
        let name = try ItemName(service: "s", account: "a")
        let secret = try SecretBytes("x")
        _ = try SaveRequest(name: name, secret: secret, label: String(repeating: "l", count: 1024))
        #expect(throws: TokenKeepError(.invalid, "")) {
            try SaveRequest(name: name, secret: secret, label: String(repeating: "l", count: 1025))
        }
        let largest = try SecretBytes(count: Limits.secret) { _ in }
        _ = try SaveRequest(name: name, secret: largest)
        let tooLarge = try SecretBytes(count: Limits.secret + 1) { _ in }
        #expect(throws: TokenKeepError(.invalid, "")) { try SaveRequest(name: name, secret: tooLarge) }
    }

    @Test func refusesSynchronizableOnThisDeviceOnly() throws {
        let name = try ItemName(service: "s", account: "a")
        for level in AccessLevel.allCases {
            let request = Result {
                try SaveRequest(name: name, secret: SecretBytes("x"), accessLevel: level, flags: .synchronizable)
            }
            #expect(((try? request.get()) == nil) == level.isThisDeviceOnly)
        }
    }

    @Test func knowsTheWordsOfTheLevels() throws {
        for level in AccessLevel.allCases { #expect(try AccessLevel(word: level.word) == level) }
        #expect(throws: TokenKeepError(.policy, "")) { try AccessLevel(word: "always") }
        #expect(throws: TokenKeepError(.invalid, "")) { try AccessLevel(word: "sometimes") }
    }

    /// Two spellings that look alike are two items, as they are two file names.
    @Test func comparesNamesByTheirBytes() throws {
        let composed = try ItemName(service: "caf\u{E9}", account: "")
        let decomposed = try ItemName(service: "cafe\u{301}", account: "")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }
}
