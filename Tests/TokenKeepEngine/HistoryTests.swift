import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Histories of items while a real gnome-keyring stops, hangs, locks and returns.
@Suite struct HistoryTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private let call = CallContext(deadline: Deadline(milliseconds: 60_000))

    init() throws { keyring = try PrivateKeyring() }

    /// A store with the default stack, without a bus if `isConnected` is false.
    private func open(
        isConnected: Bool = true, timeout: UInt32 = 5000, stack: String? = nil
    ) throws -> Store {
        var configuration = StoreConfiguration(stackText: stack, timeoutMilliseconds: timeout)
        configuration.vaultPath = vault.path + "/vault"
        configuration.use(keyring, isConnected: isConnected)
        return try Store(configuration)
    }

    @discardableResult
    private func save(
        _ store: Store, _ secret: String, _ account: String = "ann",
        if precondition: SaveRequest.Precondition = .none
    ) throws -> SaveOutcome {
        try store.save(
            SaveRequest(
                name: ItemName(service: "example.com", account: account), secret: SecretBytes(secret),
                precondition: precondition))
    }

    private func load(_ store: Store, _ account: String = "ann") throws -> String? {
        try store.load(service: "example.com", account: account).secret.utf8String
    }

    private func status(_ body: () throws -> Void) -> Status {
        do {
            try body()
            return .ok
        } catch {
            return (error as? TokenKeepError)?.status ?? .internal
        }
    }

    /// The value that `secret-tool` finds; empty if it finds none.
    private func lookUp(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool("lookup", "service", "example.com", "username", account).output
    }

    private func record(_ account: String = "ann") throws -> JournalRecord? {
        try Records(at: vault.path + "/vault").record(
            of: ItemName(service: "example.com", account: account), call)
    }

    /// Loads until no change is pending.
    private func settle(_ account: String = "ann") throws {
        let deadline = Deadline(milliseconds: 20_000)
        while try record(account) != nil, !deadline.hasPassed { _ = try? load(open(), account) }
    }

    @Test func aTokenGoesToTheServiceAndNowhereElse() throws {
        let store = try open()
        let outcome = try save(store, "token-1")
        #expect(outcome.module == "secret-service")
        #expect(outcome.pendingModules.isEmpty)
        #expect(try lookUp() == "token-1")
        #expect(vault.names(in: "vault/current/records").isEmpty)
        let item = try store.load(service: "example.com", account: "ann")
        #expect(item.details.module == "secret-service")
        #expect(item.details.version == outcome.version)
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(try lookUp() == "")
    }

    @Test func aSaveWhileTheServiceIsAwayIsNotLost() throws {
        let store = try open()
        try save(store, "old")
        keyring.stop()
        let outcome = try save(store, "new")
        #expect(outcome.module == "vault")
        #expect(outcome.pendingModules == ["secret-service"])
        #expect(try load(store) == "new")
        #expect(try load(open()) == "new")
        #expect(try store.list().items.map(\.module) == ["vault"])
        try keyring.restart()
        #expect(try lookUp() == "old")
        #expect(try load(open()) == "new")  // the load drains, so the service gets the value
        try settle()
        #expect(try lookUp() == "new")
        #expect(try record() == nil)
        #expect(try load(open()) == "new")
        #expect(try open().list().items.map(\.module) == ["secret-service"])
    }

    @Test func aClearWhileTheServiceIsAwayIsNotUndone() throws {
        let store = try open()
        try save(store, "old")
        keyring.stop()
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(status { _ = try load(store) } == .notFound)
        try keyring.restart()
        #expect(try lookUp() == "old")
        #expect(try open().list().items.isEmpty)
        #expect(status { _ = try load(open()) } == .notFound)
        try settle()
        #expect(try lookUp() == "")
        #expect(try record() == nil)
        #expect(status { _ = try load(open()) } == .notFound)
    }

    /// Another program's value that is later than the pending write stays.
    @Test func aLaterChangeByAnotherProgramStays() throws {
        try save(open(), "old")
        try save(open(isConnected: false), "ours")
        let since = try #require(try record()?.pending.first?.since)
        while UnixTime.now <= since {}  // the service's times are whole seconds
        _ = try keyring.bus.secretTool(
            "store", "--label=x", "xdg:schema", "org.tokenkeep.Item", "service", "example.com", "username", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "after-first-unlock", input: "theirs")
        #expect(try load(open()) == "theirs")
        #expect(try record() == nil)
    }

    /// The version of a save during an outage stays after the drain, although the item keeps the other program's label.
    @Test func aSaveOverAnotherProgramsItemHasOneVersion() throws {
        _ = try keyring.bus.secretTool(
            "store", "--label=theirs", "service", "example.com", "username", "ann", input: "theirs")
        #expect(try load(open()) == "theirs")
        let version = try save(open(isConnected: false), "ours").version
        let store = try open()
        #expect(try load(store) == "ours")
        try settle()
        #expect(try store.load(service: "example.com", account: "ann").details.version == version)
        #expect(try save(store, "newer", if: .version(version)).module == "secret-service")
    }

    @Test func anItemSavedOverAnotherProgramsIsListedAndGoesWithItsService() throws {
        _ = try keyring.bus.secretTool(
            "store", "--label=theirs", "service", "example.com", "username", "ann", input: "theirs")
        let store = try open()
        #expect(try store.list(service: "example.com").items.isEmpty)
        try save(store, "ours")
        #expect(try store.list(service: "example.com").items.map(\.name.account) == ["ann"])
        #expect(try store.clear(service: "example.com") == 1)
        #expect(try lookUp() == "")
        #expect(status { _ = try load(open()) } == .notFound)
    }

    @Test func anExportHasTheItemsOfEveryNamespace() throws {
        let bus = keyring.bus.address
        for namespace in ["", "work", "home"] {
            var configuration = StoreConfiguration(stackText: ScriptedService.stack)
            configuration.vaultPath = vault.path + "/vault"
            configuration.busAddress = bus
            configuration.namespace = namespace
            let name = try ItemName(namespace: namespace, service: "example.com", account: "ann")
            let saved = try Store(configuration).save(SaveRequest(name: name, secret: SecretBytes("in \(namespace)")))
            #expect(saved.module == "secret-service")
        }
        let outcome = try open().transfer.export(to: vault.path + "/export", passphrase: SecretBytes("pass"))
        #expect(outcome.exported == 3)
        #expect(outcome.modulesOfOneNamespace.isEmpty)
    }

    @Test func aLockedServiceIsNeitherPassedNorAbsent() throws {
        let store = try open()
        try save(store, "old")
        try keyring.restart(unlocked: false)
        #expect(status { _ = try load(store) } == .locked)
        #expect(status { try save(store, "new") } == .locked)
        #expect(try record() == nil)
        // A clear becomes pending, because a sign-out must not fail if no user is there to unlock the service.
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(status { _ = try load(store) } == .notFound)
        try keyring.restart()
        #expect(status { _ = try load(open()) } == .notFound)
        try settle()
        #expect(try lookUp() == "")
    }

    @Test func whereThereNeverWasAServiceNothingIsMissing() throws {
        let store = try open(isConnected: false)
        #expect(status { _ = try load(store) } == .notFound)
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(try store.list().items.isEmpty)
        #expect(vault.names() == [])
        #expect(try save(store, "token").pendingModules == [])
        #expect(try load(store) == "token")
        #expect(try store.list().items.map(\.module) == ["vault"])
        #expect(status { _ = try load(store, "nobody") } == .notFound)
        #expect(try save(store, "x", "bob", if: .absent).pendingModules == [])
        #expect(try store.pendingChanges.report().entries.isEmpty)
    }

    /// Once the service was used on this machine, its absence is an outage: the items may still exist.
    @Test func whereTheServiceWasUsedItsAbsenceIsAnOutage() throws {
        try save(open(), "token")
        let store = try open(isConnected: false)
        #expect(status { _ = try load(store) } == .unavailable)
        #expect(status { _ = try load(store, "nobody") } == .unavailable)
        #expect(try store.list().problem?.status == .unavailable)
    }

    @Test func aHungServiceCostsItsShareOnceAndTheValueIsKept() throws {
        let store = try open(timeout: 16_000)
        try save(store, "old")
        keyring.freeze(true)
        defer { keyring.freeze(false) }
        #expect(try save(store, "new").pendingModules == ["secret-service"])
        let again = ContinuousClock.now
        #expect(try load(store) == "new")
        #expect(try save(store, "newer").pendingModules == ["secret-service"])
        #expect(ContinuousClock.now - again < .seconds(7), "a second share was waited for")
        keyring.freeze(false)
        #expect(try load(open()) == "newer")
        try settle()
        #expect(try load(open()) == "newer")
        #expect(try lookUp() == "newer")
    }

    /// Another program may have changed the service's item, so a precondition is checked in the service.
    @Test func conditionsAreJudgedByTheService() throws {
        let old = try save(open(), "old").version
        let store = try open(isConnected: false)
        #expect(status { try save(store, "x", if: .version(old)) } == .unavailable)
        let kept = try save(store, "kept").version
        #expect(status { try save(store, "x", if: .absent) } == .unavailable)
        #expect(status { try save(store, "x", if: .version(kept)) } == .unavailable)
        #expect(status { try store.clear(service: "example.com", account: "ann", ifVersion: kept) } == .unavailable)
        #expect(try load(store) == "kept")
        #expect(status { try save(open(), "x", if: .version(old)) } == .conflict)
        let swapped = try save(open(), "swapped", if: .version(kept)).version
        #expect(status { try open().clear(service: "example.com", account: "ann", ifVersion: kept) } == .conflict)
        #expect(status { try open().clear(service: "example.com", account: "ann", ifVersion: swapped) } == .ok)
        #expect(status { try save(open(), "anew", if: .absent) } == .ok)
        #expect(try load(open()) == "anew")
        try settle()
        #expect(try lookUp() == "anew")
    }

    /// A save moves an item from the vault to the service, if the service comes first in the stack.
    @Test func anItemOfTheVaultMovesWhenItIsSaved() throws {
        try save(open(stack: "any required vault"), "old")
        #expect(try load(open()) == "old")
        #expect(try save(open(), "new").module == "secret-service")
        #expect(try record() == nil)
        #expect(try lookUp() == "new")
        #expect(status { _ = try load(open(stack: "any required vault")) } == .notFound)
    }

    /// A save moves an item from the service to the vault, if the vault comes first in the stack.
    @Test func anItemOfTheServiceMovesToAVaultThatStandsBefore() throws {
        try save(open(), "old")
        let reversed = "any sufficient vault\nany required secret-service"
        #expect(try save(open(stack: reversed), "new").module == "vault")
        #expect(try lookUp() == "")
        #expect(try record()?.isHome == true)
        #expect(try load(open(stack: reversed)) == "new")
    }

    @Test func clearingAServiceReachesPendingItems() throws {
        try save(open(), "a", "ann")
        try save(open(isConnected: false), "b", "bob")
        #expect(try open().clear(service: "example.com") == 2)
        #expect(try open().list().items.isEmpty)
        #expect(try lookUp("ann") == "" && lookUp("bob") == "")
    }

    @Test func aVaultThatCannotBeUsedTakesNothingFromTheService() throws {
        mkdir(vault.path + "/vault", 0o700)
        chmod(vault.path + "/vault", 0o755)
        let store = try open()
        #expect(status { try save(store, "token") } != .internal)
        keyring.stop()
        #expect(status { try save(store, "token") } != .ok)
    }

    /// Two stores, one without a bus, change one item in turns. Each load returns the value that was acknowledged last.
    @Test func storesWithAndWithoutABusSeeOneItem() throws {
        let (desktop, cron) = (try open(), try open(isConnected: false))
        for round in 0..<10 {
            try save(desktop, "desktop-\(round)")
            #expect(status { _ = try load(cron) } == .unavailable)
            try save(cron, "cron-\(round)")
            #expect(try load(cron) == "cron-\(round)")
            #expect(try load(desktop) == "cron-\(round)")
            #expect(try load(desktop) == "cron-\(round)")
        }
    }
}
