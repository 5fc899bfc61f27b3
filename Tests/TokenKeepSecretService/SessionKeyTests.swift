import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Sessions whose two ends have different keys, as KWallet before 6.25 opens them now and then.
@Suite struct SessionKeyTests {
    /// A service with one item of TokenKeep's, and what is wrong with its first sessions.
    private static func service(_ behaviour: String, foreign: Bool = false) throws -> FakeService {
        let attributes = foreign ? ["service": "example.com", "username": "ann"] : FakeService.ours()
        let item = FakeService.item("1", attributes, secret: "token")
        return try FakeService(#"{"encrypted": true, \#(behaviour), "items": {\#(item)}}"#)
    }

    /// The calls among `members` since the last question.
    private static func calls(of fake: FakeService, _ members: String...) throws -> [String] {
        try fake.calls().filter(members.contains)
    }

    private static func secrets(of fake: FakeService) throws -> Int {
        try fake.items().components(separatedBy: #""secret""#).count - 1
    }

    @Test func aRefusedNegotiationIsTriedOnceMore() throws {
        let fake = try SessionKeyTests.service(#""refusals": 1"#)
        #expect(try fake.client.load("example.com", "ann") == "token")
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession") == ["OpenSession", "OpenSession"])
    }

    @Test func twoRefusedNegotiationsAreUnavailable() throws {
        let fake = try SessionKeyTests.service(#""refusals": 2"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .unavailable)
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession").count == 2)
    }

    @Test(arguments: ["undecryptable", "binary"], [false, true])
    func aSecretThatDoesNotDecryptIsReadInAFreshSession(reads: String, foreign: Bool) throws {
        let fake = try SessionKeyTests.service(#""bad": 1, "badReads": "\#(reads)""#, foreign: foreign)
        #expect(try fake.client.load("example.com", "ann") == "token")
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession", "Close") == ["OpenSession", "OpenSession", "Close"])
    }

    @Test func aSecretThatDecryptsInNoSessionIsCorrupt() throws {
        let fake = try SessionKeyTests.service(#""bad": 2"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .corrupt)
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession").count == 2)
    }

    /// A second session confirms it once, for all later loads. Lines are text and need no second session.
    @Test(arguments: [(#"a\u0001b"#, "a\u{1}b", 2), (#"two\n\tlines"#, "two\n\tlines", 1)])
    func aForeignSecretThatIsNoTextIsLoaded(stored: String, secret: String, sessions: Int) throws {
        let item = FakeService.item("1", ["service": "example.com", "username": "ann"], secret: stored)
        let fake = try FakeService(#"{"encrypted": true, "items": {\#(item)}}"#)
        for _ in 0..<3 { #expect(try fake.client.load("example.com", "ann") == secret) }
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession").count == sessions)
    }

    @Test(arguments: ["refuse", "garble"], ["none", "absent"])
    func aNewItemIsSavedThroughAFreshSession(writes: String, precondition: String) throws {
        let fake = try SessionKeyTests.service(#""bad": 1, "badWrites": "\#(writes)""#)
        try fake.client.save("example.com", "bob", "t0ken") {
            if precondition == "absent" { $0.precondition = .absent }
        }
        #expect(try fake.client.load("example.com", "bob") == "t0ken")
        #expect(try fake.items().contains(#""t0ken""#))
        #expect(try SessionKeyTests.secrets(of: fake) == 2, "no copy is left")
    }

    @Test(arguments: ["refuse", "garble"], [false, true])
    func anItemIsOverwrittenThroughAFreshSession(writes: String, foreign: Bool) throws {
        let fake = try SessionKeyTests.service(#""bad": 1, "badWrites": "\#(writes)""#, foreign: foreign)
        try fake.client.save("example.com", "ann", "t0ken")
        #expect(try fake.client.load("example.com", "ann") == "t0ken")
        #expect(try fake.items().contains(#""t0ken""#))
        #expect(try SessionKeyTests.secrets(of: fake) == 1, "no copy is left")
    }

    /// Reading the present version shows that the session is bad, before anything is written.
    @Test func aConditionalSaveAndAConditionalClearUseAFreshSession() throws {
        let fake = try SessionKeyTests.service(#""bad": 0"#)
        let first = try fake.client.item("example.com", "ann").details.version
        try fake.configure(#"{"bad": 1}"#)
        let second = try fake.client.save("example.com", "ann", "t0ken") { $0.precondition = .version(first) }
        #expect(try fake.items().contains(#""t0ken""#))
        try fake.configure(#"{"bad": 2}"#)
        #expect(try fake.client.clear("example.com", "ann", version: second))
        #expect(try SessionKeyTests.calls(of: fake, "OpenSession").count == 3)
    }

    /// In a fresh session, another secret than the saved one is another program's.
    @Test func aSaveThatAnotherProgramOverwritesSucceeds() throws {
        let fake = try SessionKeyTests.service(#""override": {"GetSecrets": {"do": "large", "count": 3}}"#)
        try fake.client.save("example.com", "ann", "t0ken")
        #expect(try SessionKeyTests.calls(of: fake, "SetSecret", "OpenSession").count == 4)
        try fake.client.save("example.com", "ann", "another")
        #expect(try SessionKeyTests.calls(of: fake, "SetSecret", "OpenSession") == ["SetSecret"])
    }

    @Test(arguments: ["refuse", "garble"]) func aSaveThatNoSessionTakesFails(writes: String) throws {
        let fake = try SessionKeyTests.service(#""bad": 2, "badWrites": "\#(writes)""#)
        let outcome = status { try fake.client.save("example.com", "ann", "t0ken") }
        #expect(outcome == (writes == "refuse" ? .io : .corrupt))
        #expect(try !fake.items().contains("t0ken"))
    }

    /// Once a secret has proven the session, a save costs no more messages than before.
    @Test func aProvenSessionIsNotCheckedAgain() throws {
        let fake = try SessionKeyTests.service(#""bad": 0"#)
        try fake.client.save("example.com", "bob", "first")
        #expect(try SessionKeyTests.calls(of: fake, "CreateItem", "GetSecrets") == ["CreateItem", "GetSecrets"])
        try fake.client.save("example.com", "cat", "second")
        #expect(try SessionKeyTests.calls(of: fake, "CreateItem", "GetSecrets") == ["CreateItem"])
    }

    /// KWallet leaves the attributes of an item whose secret it refused, or lost when it was killed.
    @Test func anItemWithoutASecretIsCorruptAndAnEmptySecretIsNot() throws {
        let fake = try SessionKeyTests.service(#""bad": 2"#)
        #expect(status { try fake.client.save("example.com", "bob", "t0ken") } == .io)
        #expect(status { _ = try fake.client.load("example.com", "bob") } == .corrupt)
        try fake.client.save("example.com", "bob", "")
        #expect(try fake.client.load("example.com", "bob") == "")
    }
}
