import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A service or a bus that stops answering.
@Suite struct HangMovedClockTests {
    /// Runs a call whose messages nobody answers until its limit has passed, and returns its status.
    private func statusAtItsLimit(_ bus: PrivateBus, _ body: () throws -> Void) throws -> Status {
        let monitor = try BusMonitor(bus)
        let outcome = try TestClock.passLimits(when: { monitor.hasPassedCalls }) { status(body) }
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        return outcome.answer
    }

    /// The same while the bus itself is frozen.
    private func statusAtItsLimit(_ body: () throws -> Void) throws -> Status {
        let outcome = try TestClock.passLimits { status(body) }
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        return outcome.answer
    }

    @Test(arguments: ["load", "save", "clear", "list"]) func frozenService(_ operation: String) throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.freeze(true)
        let body = {
            switch operation {
            case "load": _ = try client.load("example.com", "ann")
            case "save": try client.save("example.com", "ann", "late")
            case "clear": _ = try client.clear("example.com", "ann")
            default: _ = try client.list()
            }
        }
        #expect(try statusAtItsLimit(keyring.bus, body) == .timedOut)
        #expect(status(body) == .unavailable, "the breaker is open: nobody is asked")
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
        #expect(try client.load("example.com", "ann") == "token")
    }

    @Test func frozenBeforeFirstUse() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        keyring.freeze(true)
        let body = { _ = try client.load("example.com", "ann") }
        #expect(try statusAtItsLimit(keyring.bus, body) == .timedOut)
        #expect(status(body) == .unavailable)
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .notFound }
    }

    @Test func frozenBus() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        keyring.bus.daemon.stop()
        let body = { _ = try client.load("example.com", "ann") }
        #expect(try statusAtItsLimit(body) == .timedOut)
        #expect(status(body) == .unavailable)
        keyring.bus.daemon.signal(SIGCONT)
    }

    @Test func frozenBusAfterUse() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.bus.daemon.stop()
        let body = { _ = try client.load("example.com", "ann") }
        #expect(try statusAtItsLimit(body) == .timedOut)
        #expect(status(body) == .unavailable)
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
        #expect(try statusAtItsLimit(keyring.bus) { try client.save("example.com", "ann", "given up") } == .timedOut)
        keyring.freeze(false)
        try waitUntil { status { _ = try client.load("example.com", "ann") } == .ok }
        #expect(try client.load("example.com", "ann") == "second")
    }

    /// A probe of a bus that did not let this process in connects again.
    @Test func aProbeFindsABusThatIsBack() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try TestClock.standing { () throws in
            keyring.bus.daemon.stop()
            #expect(try statusAtItsLimit { _ = try client.load("example.com", "ann") } == .timedOut)
            #expect(try TestClock.passLimits { client.module.mayAnswer(asking: client.call()) }.answer == false)
            keyring.bus.daemon.signal(SIGCONT)
            #expect(client.module.mayAnswer(asking: client.call()))
        }
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
    }

    @Test func aProbeOfAFrozenServiceFails() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        keyring.freeze(true)
        try TestClock.standing {
            #expect(try statusAtItsLimit(keyring.bus) { _ = try client.load("example.com", "ann") } == .timedOut)
            let monitor = try BusMonitor(keyring.bus)
            let probe = try TestClock.passLimits(when: { monitor.hasPassedCalls }) {
                client.module.mayAnswer(asking: client.call())
            }
            #expect(!probe.answer)
            #expect(!client.module.mayAnswer)
            keyring.freeze(false)
            try waitUntil { client.module.mayAnswer(asking: client.call()) }
            #expect(try client.load("example.com", "ann") == "token")
        }
    }
}
