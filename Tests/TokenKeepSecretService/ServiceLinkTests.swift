import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

@Suite struct ServiceLinkTests {
    @Test func theBusIsAskedOnceWhetherTheServiceIsKeePassXC() throws {
        let keyring = try PrivateKeyring()
        try GLibrary.load()
        let deadline = Deadline(milliseconds: Patience.milliseconds)
        let connection = try BusConnection.connect(
            to: keyring.bus.address, breaker: CircuitBreaker(), observers: ChangeObservers(), until: deadline)
        let link = try ServiceLink(over: connection, searching: nil, until: deadline)
        let over = Deadline(milliseconds: 0)
        #expect(throws: TokenKeepError.self) { try link.isKeePassXC(until: over) }
        #expect(try !link.isKeePassXC(until: deadline))
        #expect(try !link.isKeePassXC(until: over))
    }
}
