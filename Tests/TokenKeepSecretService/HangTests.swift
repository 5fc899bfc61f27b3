import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A service or a bus that stops answering.
@Suite(.serialized) struct HangTests {
    /// The first call waits for its deadline, 700 ms; the second finds the breaker open and does not ask.
    private func expectHang(_ body: () throws -> Void) {
        var outcome = Status.ok
        let duration = ContinuousClock().measure { outcome = status(body) }
        #expect(outcome == .timedOut)
        #expect(duration >= .milliseconds(690) && duration < Patience.limit)
        #expect(status(body) == .unavailable)
    }

    @Test(arguments: ["load", "save", "clear", "list"]) func frozenService(_ operation: String) throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.freeze(true)
        expectHang {
            switch operation {
            case "load": _ = try client.load("example.com", "ann", within: 700)
            case "save": try client.save("example.com", "ann", "late", within: 700)
            case "clear": _ = try client.clear("example.com", "ann", within: 700)
            default: _ = try client.list(within: 700)
            }
        }
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
        #expect(try client.load("example.com", "ann") == "token")
    }

    @Test func frozenBeforeFirstUse() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        keyring.freeze(true)
        expectHang { _ = try client.load("example.com", "ann", within: 700) }
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .notFound }
    }

    @Test func frozenBus() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        keyring.bus.daemon.stop()
        expectHang { _ = try client.load("example.com", "ann", within: 700) }
        keyring.bus.daemon.signal(SIGCONT)
    }

    @Test func frozenBusAfterUse() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.bus.daemon.stop()
        expectHang { _ = try client.load("example.com", "ann", within: 700) }
        keyring.bus.daemon.signal(SIGCONT)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
    }

    /// What was given up is not sent later: the thawed service keeps what it was told last.
    @Test func nothingIsSentAfterTheDeadline() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        let other = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "first")
        try other.save("example.com", "ann", "second")
        keyring.freeze(true)
        #expect(status { try client.save("example.com", "ann", "given up", within: 200) } == .timedOut)
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
        #expect(try client.load("example.com", "ann") == "second")
    }

    @Test func busDeathIsNoEnd() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.bus.daemon.kill()
        #expect(status { _ = try client.load("example.com", "ann") } == .unavailable)
        #expect(status { try client.save("example.com", "ann", "other") } == .unavailable)
    }

    /// A service that does not answer a hasty call may be healthy: other calls ask it.
    @Test func aHastyCallOpensNoBreaker() throws {
        let items = ["1": "ann", "2": "bob"].map {
            FakeService.item($0, FakeService.ours("example.com", $1), secret: "token")
        }
        let fake = try FakeService(#"{"items": {\#(items.joined(separator: ", "))}}"#)
        #expect(try fake.client.load("example.com", "bob") == "token")
        try fake.configure(#"{"override": {"GetAll": {"do": "hang", "path": "/1"}}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann", within: 200) } == .timedOut)
        #expect(fake.client.module.mayAnswer)
        #expect(try fake.client.load("example.com", "bob") == "token")
    }

    /// An answer is lost, and the service answers everything else: a probe finds it at once.
    @Test func aProbeFindsAServiceThatIsBack() throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        #expect(try fake.client.load("example.com", "ann") == "token")
        try fake.configure(#"{"override": {"GetSecrets": {"do": "hang"}}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann", within: 700) } == .timedOut)
        #expect(!fake.client.module.mayAnswer)
        try fake.configure(#"{"override": {}}"#)
        #expect(fake.client.module.mayAnswer(asking: fake.client.call()))
        #expect(fake.client.module.mayAnswer)
        #expect(try fake.client.load("example.com", "ann") == "token")
    }

    /// A probe of a bus that did not let this process in connects again.
    @Test func aProbeFindsABusThatIsBack() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        keyring.bus.daemon.stop()
        #expect(status { _ = try client.load("example.com", "ann", within: 700) } == .timedOut)
        #expect(!client.module.mayAnswer(asking: client.call()))
        keyring.bus.daemon.signal(SIGCONT)
        try waitUntil { client.module.mayAnswer(asking: client.call()) }
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
    }

    @Test func aProbeOfAFrozenServiceFails() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.freeze(true)
        #expect(status { _ = try client.load("example.com", "ann", within: 700) } == .timedOut)
        #expect(!client.module.mayAnswer(asking: client.call()))
        #expect(!client.module.mayAnswer)
        keyring.freeze(false)
        try waitUntil { client.module.mayAnswer(asking: client.call()) }
        #expect(try client.load("example.com", "ann") == "token")
    }

    @Test func aCallWithoutTimeLeftSendsNothing() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        #expect(status { _ = try client.load("example.com", "ann", within: 0) } == .timedOut)
        #expect(try client.load("example.com", "ann") == "token", "no question was left unanswered: no breaker")
    }
}

/// Asks again until the condition holds: for what another process does in its own time.
func waitUntil(_ condition: () -> Bool) throws {
    guard Patience.wait(until: condition) else { throw HarnessFailure(message: "it did not happen") }
}
