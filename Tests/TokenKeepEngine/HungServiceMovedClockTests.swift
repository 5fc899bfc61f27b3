import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// A real gnome-keyring that does not answer, while stores wait for it as long as they may.
@Suite struct HungServiceMovedClockTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()

    init() throws { keyring = try PrivateKeyring() }

    @Test func aHungServiceCostsItsShareOnceAndTheValueIsKept() throws {
        let stores = TestStore(keyring.bus, in: vault)
        let store = try stores.open { $0.timeoutMilliseconds = 2 * Patience.milliseconds }
        try store.put("old")
        keyring.freeze(true)
        defer { keyring.freeze(false) }
        let saved = try TestClock.passLimits { try store.put("new") }
        #expect(saved.answer.pendingModules == ["secret-service"])
        // The store leaves the service alone: nobody passes the share of a second call.
        let limit = Deadline.patient
        #expect(try store.value() == "new")
        #expect(try store.put("newer").pendingModules == ["secret-service"])
        #expect(!limit.hasPassed, "a second share was waited for")
        keyring.freeze(false)
        #expect(try stores.open().value() == "newer")
        #expect(try Patience.wait { try stores.open().pendingChanges.sync().left == 0 })
        #expect(try stores.open().value() == "newer")
        let found = try keyring.bus.secretTool("lookup", "service", "example.com", "username", "ann").output
        #expect(found == "newer")
    }
}
