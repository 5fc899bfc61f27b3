import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// Changes for which a real KeePassXC asks its user: they stay pending until a prompt is allowed.
@Suite(.enabled(if: PrivateKeePassXC.isInstalled, "keepassxc is not installed: apt-get install keepassxc"))
struct KeePassXCStoreTests {
    private let keePassXC: PrivateKeePassXC
    private let directory = TemporaryDirectory(inMemory: true)

    init() throws { keePassXC = try PrivateKeePassXC() }

    private func open(isInteractive: Bool = false) throws -> Store {
        var configuration = StoreConfiguration(
            stackText: "any sufficient secret-service timeout=60s\nany required vault", timeoutMilliseconds: 60_000,
            isInteractive: isInteractive)
        configuration.vaultPath = directory.path + "/vault"
        configuration.busAddress = keePassXC.bus.address
        return try Store(configuration)
    }

    private func save(_ store: Store, _ secret: String, expiresAt: UnixTime? = nil) throws -> SaveOutcome {
        try store.save(
            SaveRequest(
                name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes(secret),
                expiresAt: expiresAt))
    }

    private func load(_ store: Store) throws -> String? {
        do {
            return try store.load(service: "example.com", account: "ann").secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    /// The value that `secret-tool` finds; empty if it finds none.
    private func inService() throws -> String {
        try keePassXC.bus.secretTool("lookup", "service", "example.com", "username", "ann").output
    }

    private func owed() throws -> Int { try open().pendingChanges.report().entries.count }

    @Test(arguments: ["clear", "sync", "save"]) func aPendingRemovalIsAppliedIfTheUserMayBeAsked(by call: String) throws
    {
        let store = try open()
        #expect(try save(store, "token").pendingModules.isEmpty)
        try store.clear(service: "example.com", account: "ann")
        #expect(try load(store) == nil)
        #expect(try inService() == "token" && owed() == 1, "it would have had to ask")
        #expect(try store.pendingChanges.sync().left == 1, "nor does a sync ask unless it may")
        let asking = try open(isInteractive: true)
        switch call {
        case "clear": try asking.clear(service: "example.com", account: "ann")
        case "save": #expect(try save(asking, "new").pendingModules.isEmpty)
        default: #expect(try asking.pendingChanges.sync().drained == 1)
        }
        #expect(try inService() == (call == "save" ? "new" : ""))
        #expect(try owed() == 0)
        #expect(try load(store) == (call == "save" ? "new" : nil))
    }

    @Test func aClearThatMayAskLeavesNothingPending() throws {
        #expect(try save(open(), "token").pendingModules.isEmpty)
        try open(isInteractive: true).clear(service: "example.com", account: "ann")
        #expect(try inService() == "")
        #expect(try owed() == 0)
    }

    /// KeePassXC never removes an attribute of an entry, so the save must make a new entry.
    @Test func aSaveThatMustRemoveAnAttributeAsks() throws {
        let expires = UnixTime(2_000_000_000)
        #expect(try save(open(), "old", expiresAt: expires).pendingModules.isEmpty)
        #expect(throws: TokenKeepError(.locked, "")) { try save(open(), "new") }
        #expect(try load(open()) == "old" && inService() == "old" && owed() == 0, "nothing was touched")
        let outcome = try save(open(isInteractive: true), "new")
        #expect(outcome.pendingModules.isEmpty && outcome.module == "secret-service")
        #expect(try inService() == "new" && owed() == 0)
        let item = try open().load(service: "example.com", account: "ann")
        #expect(item.details.expiresAt == nil && item.details.version == outcome.version)
        #expect(try open().list().items.count == 1)
    }

    @Test func anAttributeThatIsAddedNeedsNoQuestion() throws {
        #expect(try save(open(), "old").pendingModules.isEmpty)
        let expires = UnixTime(2_000_000_000)
        let outcome = try save(open(), "new", expiresAt: expires)
        #expect(outcome.pendingModules.isEmpty)
        let item = try open().load(service: "example.com", account: "ann")
        #expect(item.details.expiresAt == expires && item.details.version == outcome.version)
        #expect(try owed() == 0)
    }

    /// Unsealing an item needs a new entry, and KeePassXC asks before it deletes the old one.
    @Test func aChangeOfKeysWaitsForNoQuestion() throws {
        let store = try open()
        let name = try ItemName(service: "example.com", account: "ann")
        let (old, new) = (try SecretBytes("horse"), try SecretBytes("battery"))
        _ = try store.passwords.set(old)
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("token"), accessLevel: .whenUnlocked))
        _ = try store.passwords.change(from: old, to: new, isCompromised: true)
        #expect(try load(store) == "token" && inService() == "")
        #expect(throws: TokenKeepError(.unavailable, "")) { try store.passwords.remove(new, isDestroying: false) }
        #expect(try load(store) == "token")
        let asking = try open(isInteractive: true)
        #expect(try asking.pendingChanges.sync().left == 0)
        _ = try store.passwords.set(old)
        #expect(try load(store) == "token" && owed() == 0)
        try store.lock()
    }
}
