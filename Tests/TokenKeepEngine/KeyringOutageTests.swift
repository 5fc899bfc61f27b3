import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Histories of items while a real gnome-keyring stops, hangs, locks and returns.
@Suite struct KeyringOutageTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private var stores: TestStore { TestStore(keyring.bus, in: vault) }

    init() throws { keyring = try PrivateKeyring() }

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

    /// Loads until no change is pending.
    private func drain(_ account: String = "ann") throws {
        let isDrained = try Patience.wait {
            guard try stores.record(account) != nil else { return true }
            _ = try? stores.open().value(account)
            return false
        }
        #expect(isDrained)
    }

    @Test func aTokenGoesToTheServiceAndNowhereElse() throws {
        let store = try stores.open()
        let outcome = try store.put("token-1")
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
        let store = try stores.open()
        try store.put("old")
        keyring.stop()
        let outcome = try store.put("new")
        #expect(outcome.module == "vault")
        #expect(outcome.pendingModules == ["secret-service"])
        #expect(try store.value() == "new")
        #expect(try stores.open().value() == "new")
        #expect(try store.list().items.map(\.module) == ["vault"])
        try keyring.restart()
        #expect(try lookUp() == "old")
        #expect(try stores.open().value() == "new")  // the load drains, so the service gets the value
        try drain()
        #expect(try lookUp() == "new")
        #expect(try stores.record() == nil)
        #expect(try stores.open().value() == "new")
        #expect(try stores.open().list().items.map(\.module) == ["secret-service"])
    }

    @Test func aClearWhileTheServiceIsAwayIsNotUndone() throws {
        let store = try stores.open()
        try store.put("old")
        keyring.stop()
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(try store.value() == nil)
        try keyring.restart()
        #expect(try lookUp() == "old")
        #expect(try stores.open().list().items.isEmpty)
        #expect(try stores.open().value() == nil)
        try drain()
        #expect(try lookUp() == "")
        #expect(try stores.record() == nil)
        #expect(try stores.open().value() == nil)
    }

    /// Another program's value that is later than the pending write stays.
    @Test func aLaterChangeByAnotherProgramStays() throws {
        try stores.open().put("old")
        try stores.open(isConnected: false).put("ours")
        awaitNextSecond()
        _ = try keyring.bus.secretTool(
            "store", "--label=x", "xdg:schema", "org.tokenkeep.Item", "service", "example.com", "username", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "after-first-unlock", input: "theirs")
        #expect(try stores.open().value() == "theirs")
        #expect(try stores.record() == nil)
    }

    /// The version of a save during an outage stays after the drain, although the item keeps the other program's label.
    @Test func aSaveOverAnotherProgramsItemHasOneVersion() throws {
        _ = try keyring.bus.secretTool(
            "store", "--label=theirs", "service", "example.com", "username", "ann", input: "theirs")
        #expect(try stores.open().value() == "theirs")
        let version = try stores.open(isConnected: false).put("ours").version
        let store = try stores.open()
        #expect(try store.value() == "ours")
        try drain()
        #expect(try store.load(service: "example.com", account: "ann").details.version == version)
        #expect(try store.put("newer", if: .version(version)).module == "secret-service")
    }

    @Test func anItemSavedOverAnotherProgramsIsListedAndGoesWithItsService() throws {
        _ = try keyring.bus.secretTool(
            "store", "--label=theirs", "service", "example.com", "username", "ann", input: "theirs")
        let store = try stores.open()
        #expect(try store.list(service: "example.com").items.isEmpty)
        try store.put("ours")
        #expect(try store.list(service: "example.com").items.map(\.name.account) == ["ann"])
        #expect(try store.clear(service: "example.com") == 1)
        #expect(try lookUp() == "")
        #expect(try stores.open().value() == nil)
    }

    @Test func anExportHasTheItemsOfEveryNamespace() throws {
        for namespace in ["", "work", "home"] {
            #expect(try stores.open(namespace: namespace).put("in \(namespace)").module == "secret-service")
        }
        let outcome = try stores.open().transfer.export(to: vault.path + "/export", passphrase: SecretBytes("pass"))
        #expect(outcome.exported == 3)
        #expect(outcome.modulesOfOneNamespace.isEmpty)
    }

    @Test func aLockedServiceIsNeitherPassedNorAbsent() throws {
        let store = try stores.open()
        try store.put("old")
        try keyring.restart(unlocked: false)
        #expect(status { _ = try store.value() } == .locked)
        #expect(status { try store.put("new") } == .locked)
        #expect(try stores.record() == nil)
        // A clear becomes pending, because a sign-out must not fail if no user is there to unlock the service.
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(try store.value() == nil)
        try keyring.restart()
        #expect(try stores.open().value() == nil)
        try drain()
        #expect(try lookUp() == "")
    }

    @Test func whereThereNeverWasAServiceNothingIsMissing() throws {
        let store = try stores.open(isConnected: false)
        #expect(try store.value() == nil)
        #expect(status { try store.clear(service: "example.com", account: "ann") } == .ok)
        #expect(try store.list().items.isEmpty)
        #expect(vault.names() == [])
        #expect(try store.put("token").pendingModules == [])
        #expect(try store.value() == "token")
        #expect(try store.list().items.map(\.module) == ["vault"])
        #expect(try store.value("nobody") == nil)
        #expect(try store.put("x", "bob", if: .absent).pendingModules == [])
        #expect(try store.pendingChanges.report().entries.isEmpty)
    }

    /// Once the service was used on this machine, its absence is an outage: the items may still exist.
    @Test func whereTheServiceWasUsedItsAbsenceIsAnOutage() throws {
        try stores.open().put("token")
        let store = try stores.open(isConnected: false)
        #expect(status { _ = try store.value() } == .unavailable)
        #expect(status { _ = try store.value("nobody") } == .unavailable)
        #expect(try store.list().problem?.status == .unavailable)
    }

    /// Another program may have changed the service's item, so a precondition is checked in the service.
    @Test func conditionsAreJudgedByTheService() throws {
        let old = try stores.open().put("old").version
        let store = try stores.open(isConnected: false)
        #expect(status { try store.put("x", if: .version(old)) } == .unavailable)
        let kept = try store.put("kept").version
        #expect(status { try store.put("x", if: .absent) } == .unavailable)
        #expect(status { try store.put("x", if: .version(kept)) } == .unavailable)
        #expect(status { try store.clear(service: "example.com", account: "ann", ifVersion: kept) } == .unavailable)
        #expect(try store.value() == "kept")
        #expect(status { try stores.open().put("x", if: .version(old)) } == .conflict)
        let swapped = try stores.open().put("swapped", if: .version(kept)).version
        #expect(
            status { try stores.open().clear(service: "example.com", account: "ann", ifVersion: kept) } == .conflict)
        #expect(status { try stores.open().clear(service: "example.com", account: "ann", ifVersion: swapped) } == .ok)
        #expect(status { try stores.open().put("anew", if: .absent) } == .ok)
        #expect(try stores.open().value() == "anew")
        try drain()
        #expect(try lookUp() == "anew")
    }

    /// A save moves an item from the vault to the service, if the service comes first in the stack.
    @Test func anItemOfTheVaultMovesWhenItIsSaved() throws {
        try stores.open(stack: "any required vault").put("old")
        #expect(try stores.open().value() == "old")
        #expect(try stores.open().put("new").module == "secret-service")
        #expect(try stores.record() == nil)
        #expect(try lookUp() == "new")
        #expect(try stores.open(stack: "any required vault").value() == nil)
    }

    /// A save moves an item from the service to the vault, if the vault comes first in the stack.
    @Test func anItemOfTheServiceMovesToAVaultThatStandsBefore() throws {
        try stores.open().put("old")
        let reversed = "any sufficient vault\nany required secret-service"
        #expect(try stores.open(stack: reversed).put("new").module == "vault")
        #expect(try lookUp() == "")
        #expect(try stores.record()?.isHome == true)
        #expect(try stores.open(stack: reversed).value() == "new")
    }

    @Test func clearingAServiceReachesPendingItems() throws {
        try stores.open().put("a", "ann")
        try stores.open(isConnected: false).put("b", "bob")
        #expect(try stores.open().clear(service: "example.com") == 2)
        #expect(try stores.open().list().items.isEmpty)
        #expect(try lookUp("ann") == "" && lookUp("bob") == "")
    }

    @Test func aVaultThatCannotBeUsedTakesNothingFromTheService() throws {
        mkdir(vault.path + "/vault", 0o700)
        chmod(vault.path + "/vault", 0o755)
        let store = try stores.open()
        #expect(status { try store.put("token") } != .internal)
        keyring.stop()
        #expect(status { try store.put("token") } != .ok)
    }

    /// Two stores, one without a bus, change one item in turns. Each load returns the value that was acknowledged last.
    @Test func storesWithAndWithoutABusSeeOneItem() throws {
        let (desktop, cron) = (try stores.open(), try stores.open(isConnected: false))
        for round in 0..<10 {
            try desktop.put("desktop-\(round)")
            #expect(status { _ = try cron.value() } == .unavailable)
            try cron.put("cron-\(round)")
            #expect(try cron.value() == "cron-\(round)")
            #expect(try desktop.value() == "cron-\(round)")
            #expect(try desktop.value() == "cron-\(round)")
        }
    }
}
