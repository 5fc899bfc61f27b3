import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

@Suite struct ServiceLinkTests {
    @Test func theBusIsAskedOnceWhetherTheServiceIsKeePassXC() throws {
        let keyring = try PrivateKeyring()
        try GLibrary.load()
        let deadline = Deadline.patient
        let connection = try BusConnection.connect(
            to: keyring.bus.address, breaker: CircuitBreaker(), observers: ChangeObservers(), until: deadline)
        let link = try ServiceLink(over: connection, searching: nil, until: deadline)
        #expect(throws: TokenKeepError.self) { try link.isKeePassXC(until: .passed) }
        #expect(try !link.isKeePassXC(until: deadline))
        #expect(try !link.isKeePassXC(until: .passed))
    }
}
