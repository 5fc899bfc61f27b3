import Testing
import TokenKeepCore

@testable import TokenKeepEngine

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
        #expect(lines.map(\.place.description) == ["text:3", "text:4"])
        #expect(lines[1].arguments == ["one", "two"])
        #expect(lines[0].applies(to: .load))
        #expect(!lines[0].applies(to: .save))
        #expect(lines[1].applies(to: .save))
    }

    private func words(_ text: String) throws -> [[String]] {
        try StackParser.parse(text, source: "text").map { [$0.module] + $0.arguments }
    }

    @Test func joinsLinesAndReadsBrackets() throws {
        let text =
            "any \\\n required \\\r\n vault [a b] [c\\]#d] [] e[f g#h\nany required x\\y z\\ # \\\nany required w [a\\\nb]"
        #expect(
            try words(text) == [["vault", "a b", "c]#d", "", "e[f", "g"], ["x\\y", "z\\"], ["w", "a b"]])
        #expect(try StackParser.parse(text, source: "t").map(\.place.line) == [1, 4, 5])
        #expect(try words("any required ü [ö ä]") == [["ü", "ö ä"]])
    }

    @Test func readsActions() throws {
        let line = try #require(
            try StackParser.parse(
                "-any [ not_found=2\tlocked=die default=ignore ] a\nany required b\nany required c", source: "t"
            ).first)
        #expect(line.mayBeMissing)
        #expect(
            line.control.actions(for: .load).description == "[ok=done not_found=2 locked=die default=ignore]")
        #expect(line.control.actions(for: .clear).description == "[ok=ok not_found=2 locked=die default=ignore]")
        #expect(line.control.actions(for: .load)[.conflict] == .die)
    }

    @Test(arguments: [
        ("any [] vault", "text:1: expected status=action"), ("any [ok] vault", "text:1: expected status=action"),
        ("any [gone=ok] vault", "text:1: expected a status such as not_found, or default, in place of gone"),
        ("any [NOT_FOUND=ok] vault", "expected a status"),
        ("any [ok=maybe] vault", "text:1: expected an action (ignore, ok, done, bad, die, reset, or a number from 1)"),
        ("any [ok=0] vault", "expected an action"), ("any [ok=-1] vault", "expected an action"),
        ("any [ok=99999999999999999999] vault", "expected an action"), ("any [ok=] vault", "expected an action"),
        ("any [ok=done ok=ok] vault", "expected ok once"),
        ("any [default=ok default=ok] vault", "expected default once"),
        ("any [conflict=ignore] vault", "expected no action for conflict, which ends every walk"),
        ("any [ok=bad] vault", "expected no bad for ok"), ("any [ok=die] vault", "expected no die for ok"),
        ("any [ok=done\nvault", "text:1: expected a ] that ends the ["), ("any required vault [a", "expected a ]"),
        ("any [ok=done]vault", "text:1: expected a space after the ]"),
        ("any \\\n\\\nsometimes vault", "text:3: expected a control"),
        ("any required vault \\", "text:1: expected a line after the \\"),
        ("any required va\u{1}ult", "text:1: expected no control character"),
        ("any required vault [\u{0}]", "text:1: expected no control character"),
        ("any required vault [x\ry]", "text:1: expected no control character"),
        ("any required vault\u{85}x", "text:1: expected no control character"),
        ("any required vault [\u{9b}31m]", "text:1: expected no control character"),
        ("[any] required vault", "expected an operation"), ("-x required vault", "expected an operation"),
        ("any required []", "expected a module"), ("-any include x", "expected no - before a line with include"),
        ("any include", "expected the name of a stack"), ("include A", "expected the name of a stack"),
        ("substack a b", "expected nothing after the name"), ("include a", "expected a stack that exists"),
    ])
    func saysWhatWasExpectedOfActionsAndNames(text: String, expected: String) {
        saysWhereAndWhatWasExpected(text: text, words: expected)
    }

    /// Any bytes give a stack or an error, and never a trap.
    @Test func readsAnyText() {
        let pieces = [
            "any", "load", "-", "[", "]", "\\", "\n", "\r", " ", "#", "=", "ok", "done", "1", "include", "a", "ä", "\0",
        ]
        var state: UInt64 = 88_172_645_463_325_252
        var accepted = 0
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<12 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                text += pieces[Int(state % UInt64(pieces.count))] + (state & 1 << 40 == 0 ? " " : "")
            }
            do throws(TokenKeepError) {
                _ = try StackParser.statements("any required vault\n" + text, source: "t")
                accepted += 1
            } catch {
                #expect(error.status == .invalid && error.message.hasPrefix("t:"))
            }
        }
        #expect(accepted > 0)
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
        StoreConfiguration(stackText: "any required vault size=3"),
        StoreConfiguration(stackText: "any required secret-service timeout=+5s"),
        StoreConfiguration(stackText: "any required secret-service timeout=s"), StoreConfiguration(stackText: "x"),
        StoreConfiguration(stack: "default", stackText: "any required vault"),
        StoreConfiguration(namespace: String(repeating: "n", count: 65)), StoreConfiguration(namespace: "a\nb"),
    ])
    func refusesConfigurations(configuration: StoreConfiguration) {
        var configuration = configuration
        configuration.stackDirectories = .none
        let isolated = configuration
        #expect(throws: TokenKeepError(.invalid, "")) { try Store(isolated) }
    }

    /// A message cuts a long word, so that the message stays one readable line.
    @Test func repeatsNoLongWord() {
        let word = String(repeating: "ä", count: 30_000)
        let short = String(repeating: "ä", count: 32) + "…"
        for text in [
            "any [\(word)=ok] vault", "any [\(word)=x] vault", "any required \(word)", "any required /\(word)",
            "any required vault \(word)",
        ] {
            var configuration = StoreConfiguration(stackText: text)
            configuration.stackDirectories = .none
            let given = configuration
            #expect {
                try Store(given)
            } throws: { error in
                guard let error = error as? TokenKeepError else { return false }
                let words = error.message
                return error.status == .invalid && words.utf8.count < 300
                    && (words.contains(short) || words.contains("/" + short.dropFirst()))
            }
        }
    }

    @Test func opensTheDefaultByName() throws {
        var configuration = StoreConfiguration(stack: "default")
        configuration.stackDirectories = .none
        _ = try Store(configuration)
    }
}
