import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// Changes for which a real KeePassXC asks its user: they stay pending until a prompt is allowed.
@Suite(.enabled(if: PrivateKeePassXC.isInstalled, "keepassxc is not installed: apt-get install keepassxc"))
struct KeePassXCStoreTests {
    private let keePassXC: PrivateKeePassXC
    private let directory = TemporaryDirectory(inMemory: true)
    /// KeePassXC asks its user, for which the stores have time.
    private var stores: TestStore {
        let address = keePassXC.bus.address
        let stack = "any sufficient secret-service timeout=\(Patience.seconds)s\nany required vault"
        return TestStore(in: directory, stack: stack) { configuration, _ in
            configuration.busAddress = address
            configuration.timeoutMilliseconds = Patience.milliseconds
        }
    }

    init() throws { keePassXC = try PrivateKeePassXC() }

    /// The value that `secret-tool` finds; empty if it finds none.
    private func inService() throws -> String {
        try keePassXC.bus.secretTool("lookup", "service", "example.com", "username", "ann").output
    }

    private func pending() throws -> Int { try stores.open().pendingChanges.report().entries.count }

    @Test(arguments: ["clear", "sync", "save"]) func aPendingRemovalIsAppliedIfTheUserMayBeAsked(by call: String) throws
    {
        let store = try stores.open()
        #expect(try store.put("token").pendingModules.isEmpty)
        try store.clear(service: "example.com", account: "ann")
        #expect(try store.value() == nil)
        #expect(try inService() == "token" && pending() == 1, "it would have had to ask")
        #expect(try store.pendingChanges.sync().left == 1, "nor does a sync ask unless it may")
        let asking = try stores.open { $0.isInteractive = true }
        switch call {
        case "clear": try asking.clear(service: "example.com", account: "ann")
        case "save": #expect(try asking.put("new").pendingModules.isEmpty)
        default: #expect(try asking.pendingChanges.sync().drained == 1)
        }
        #expect(try inService() == (call == "save" ? "new" : ""))
        #expect(try pending() == 0)
        #expect(try store.value() == (call == "save" ? "new" : nil))
    }

    @Test func aClearThatMayAskLeavesNothingPending() throws {
        #expect(try stores.open().put("token").pendingModules.isEmpty)
        try stores.open { $0.isInteractive = true }.clear(service: "example.com", account: "ann")
        #expect(try inService() == "")
        #expect(try pending() == 0)
    }

    /// KeePassXC never removes an attribute of an entry, so the save must make a new entry.
    @Test func aSaveThatMustRemoveAnAttributeAsks() throws {
        let expires = UnixTime(2_000_000_000)
        #expect(try stores.open().put("old", expiresAt: expires).pendingModules.isEmpty)
        #expect(throws: TokenKeepError(.locked, "")) { try stores.open().put("new") }
        #expect(try stores.open().value() == "old" && inService() == "old" && pending() == 0, "nothing was touched")
        let outcome = try stores.open { $0.isInteractive = true }.put("new")
        #expect(outcome.pendingModules.isEmpty && outcome.module == "secret-service")
        #expect(try inService() == "new" && pending() == 0)
        let item = try stores.open().load(service: "example.com", account: "ann")
        #expect(item.details.expiresAt == nil && item.details.version == outcome.version)
        #expect(try stores.open().list().items.count == 1)
    }

    @Test func anAttributeThatIsAddedNeedsNoQuestion() throws {
        #expect(try stores.open().put("old").pendingModules.isEmpty)
        let expires = UnixTime(2_000_000_000)
        let outcome = try stores.open().put("new", expiresAt: expires)
        #expect(outcome.pendingModules.isEmpty)
        let item = try stores.open().load(service: "example.com", account: "ann")
        #expect(item.details.expiresAt == expires && item.details.version == outcome.version)
        #expect(try pending() == 0)
    }

    /// Unsealing an item needs a new entry, and KeePassXC asks before it deletes the old one.
    @Test func aChangeOfKeysWaitsForNoQuestion() throws {
        let store = try stores.open()
        let (old, new) = (try SecretBytes("horse"), try SecretBytes("battery"))
        _ = try store.passwords.set(old)
        try store.put("token", level: .whenUnlocked)
        _ = try store.passwords.change(from: old, to: new, isCompromised: true)
        #expect(try store.value() == "token" && inService() == "")
        #expect(throws: TokenKeepError(.unavailable, "")) { try store.passwords.remove(new, isDestroying: false) }
        #expect(try store.value() == "token")
        let asking = try stores.open { $0.isInteractive = true }
        #expect(try asking.pendingChanges.sync().left == 0)
        _ = try store.passwords.set(old)
        #expect(try store.value() == "token" && pending() == 0)
        try store.lock()
    }
}
