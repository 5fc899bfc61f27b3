import Testing
import TokenKeepCore
import TokenKeepStack

@Suite struct StackParserTests {
    @Test func readsLinesCommentsAndArguments() throws {
        let lines = try StackParser.parse(
            """
            # a comment

            load\tsufficient  memory   # trailing
            any required vault one two\r
            """, source: "text")
        #expect(lines.map(\.module) == ["memory", "vault"])
        #expect(lines.map(\.operation) == [.load, .any])
        #expect(lines.map(\.control) == [.sufficient, .required])
        #expect(lines[1].arguments == ["one", "two"])
        #expect(lines[0].applies(to: .load))
        #expect(!lines[0].applies(to: .save))
        #expect(lines[1].applies(to: .save))
    }

    @Test(arguments: [
        ("store required vault", "text:1: expected an operation"),
        ("\n\nany sometimes vault", "text:3: expected a control"),
        ("any", "text:1: expected a control"),
        ("any required", "text:1: expected a module"),
        ("any required # vault", "text:1: expected a module"),
        ("", "names no module"),
        ("# nothing\n", "names no module"),
        (String(repeating: " ", count: 65_537), "longer than 65536"),
    ])
    func saysWhereAndWhatWasExpected(text: String, words: String) {
        #expect {
            try StackParser.parse(text, source: "text")
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .invalid && error?.message.contains(words) == true
        }
    }

    @Test(arguments: [
        StoreConfiguration(stack: "nope"), StoreConfiguration(stackText: "any required nope"),
        StoreConfiguration(stackText: "any required vault size=3"), StoreConfiguration(stackText: "x"),
        StoreConfiguration(stack: "default", stackText: "any required vault"),
        StoreConfiguration(namespace: String(repeating: "n", count: 65)), StoreConfiguration(namespace: "a\nb"),
    ])
    func refusesConfigurations(configuration: StoreConfiguration) {
        var configuration = configuration
        configuration.stackDirectories = .none
        let isolated = configuration
        #expect(throws: TokenKeepError(.invalid, "")) { try Store(isolated) }
    }

    @Test func opensTheDefaultByName() throws {
        var configuration = StoreConfiguration(stack: "default")
        configuration.stackDirectories = .none
        _ = try Store(configuration)
    }
}
