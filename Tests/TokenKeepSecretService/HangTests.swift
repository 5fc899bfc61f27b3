import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A bus that dies, and a call that has no time.
@Suite struct HangTests {
    @Test func busDeathIsNoEnd() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.bus.daemon.kill()
        #expect(status { _ = try client.load("example.com", "ann") } == .unavailable)
        #expect(status { try client.save("example.com", "ann", "other") } == .unavailable)
    }

    @Test func aCallWithoutTimeLeftSendsNothing() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        let name = try client.name("example.com", "ann")
        #expect(status { _ = try client.module.load(name, .passed) } == .timedOut)
        #expect(try client.load("example.com", "ann") == "token", "no question was left unanswered: no breaker")
    }
}

/// Asks again until the condition holds: for what another process does in its own time.
func waitUntil(_ condition: () -> Bool) throws {
    guard Patience.wait(until: condition) else { throw HarnessFailure(message: "it did not happen") }
}
