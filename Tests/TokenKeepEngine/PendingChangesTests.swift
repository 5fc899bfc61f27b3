import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The drain, the list and the forgetting of pending changes, with a real gnome-keyring.
@Suite struct PendingChangesTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private var stores: TestStore { TestStore(keyring.bus, in: vault) }

    init() throws { keyring = try PrivateKeyring() }

    private func lookUp(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool("lookup", "service", "example.com", "username", account).output
    }

    /// A store without a bus and with a slow clock, so that another program's later change is later in whole seconds, too.
    private func openLate() throws -> Store {
        try stores.open(isConnected: false) { $0.clock = { UnixTime(UnixTime.now.rawValue - 60) } }
    }

    // MARK: Sync

    @Test func syncDrainsEveryNamespace() throws {
        try stores.open().put("old", "bob")
        keyring.stop()
        try stores.open(isConnected: false).put("a")
        try stores.open(isConnected: false, namespace: "two").put("b", "cyd")
        try stores.open(isConnected: false).clear(service: "example.com", account: "bob")
        let early = try stores.open(isConnected: false).pendingChanges.sync()
        #expect(early.drained == 0)
        #expect(early.left == 3)
        #expect(early.pendingModules == ["secret-service"])
        #expect(early.problem == nil)
        try keyring.restart()
        #expect(try lookUp("bob") == "old")
        var seen: [String] = []
        let outcome = try stores.open().pendingChanges.sync { seen.append("\($0)/\($1)") }
        #expect(outcome.drained == 3)
        #expect(outcome.left == 0)
        #expect(outcome.pendingModules.isEmpty)
        #expect(seen == ["0/3", "1/3", "2/3", "3/3"])
        #expect(try lookUp("bob") == "")
        #expect(try lookUp() == "a")
        #expect(try stores.open(namespace: "two").value("cyd") == "b")
        #expect(try stores.record("cyd", namespace: "two") == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        #expect(vault.names(in: "vault/current/records").isEmpty)
        #expect(try stores.open().pendingChanges.sync().drained == 0)
    }

    @Test func syncLeavesPendingWritesOfALockedService() throws {
        try stores.open().put("old")
        keyring.stop()
        try stores.open(isConnected: false).put("new")
        try keyring.restart(unlocked: false)
        let outcome = try stores.open().pendingChanges.sync()
        #expect(outcome.left == 1)
        #expect(outcome.problem == nil)
        #expect(outcome.obstacle?.status == .locked)
        #expect(try stores.open(isConnected: false).value() == "new")
        try keyring.restart()
        #expect(try stores.open().pendingChanges.sync().drained == 1)
        #expect(try lookUp() == "new")
    }

    /// The trace says why a change is still pending, and later whether the drain applied or dropped the change.
    @Test func theAnswersOfModulesToADrainAreTraced() throws {
        try stores.open().put("old")
        keyring.stop()
        let cron = try openLate()
        try cron.put("new")
        try cron.clear(service: "example.com", account: "bob")
        try keyring.restart(unlocked: false)
        #expect(
            try trace { _ = try $0.pendingChanges.sync() } == [
                "save example.com (ann): secret-service: LOCKED, its write is still pending",
                "clear example.com (bob): secret-service: LOCKED, its removal is still pending",
            ])
        try keyring.restart()
        let stored = try keyring.bus.secretTool(
            "store", "--label", "x", "service", "example.com", "username", "ann", input: "theirs")
        try #require(stored.status == 0)
        #expect(
            try trace { _ = try $0.pendingChanges.sync() } == [
                "save example.com (ann): secret-service: CONFLICT, another program changed it since: that change stays",
                "clear example.com (bob): secret-service: OK, its pending removal is applied",
            ])
    }

    /// Another program's later item stays beside TokenKeep's older item, which the drain removes.
    @Test(arguments: [false, true]) func whatLiesBelowANewerTwinDoesNotRise(isCleared: Bool) throws {
        try stores.open().put("old")
        let cron = try openLate()
        if isCleared {
            try cron.clear(service: "example.com", account: "ann")
        } else {
            try cron.put("new")
        }
        awaitNextSecond()
        let twin = try keyring.bus.secretTool(
            "store", "--label", "x", "service", "example.com", "username", "ann", "application", "other",
            input: "theirs")
        try #require(twin.status == 0)
        #expect(try stores.open().pendingChanges.sync().left == 0)
        #expect(try stores.open().value() == "theirs")
        let gone = try keyring.bus.secretTool("clear", "application", "other")
        try #require(gone.status == 0)
        #expect(try stores.open().value() == nil)
        #expect(try lookUp() == "")
    }

    private func trace(_ body: (Store) throws -> Void) throws -> [String] {
        let lines = MutexGuarded<[String]>([])
        try body(stores.open { $0.trace = { line in lines.withLock { $0.append(line.description) } } })
        return lines.withLock { $0 }
    }

    /// Marks the service as used: its absence is an outage from now on.
    private func useService() throws { _ = try? stores.open().load(service: "example.com", account: "nobody") }

    @Test func syncKeepsItsDeadline() throws {
        try useService()
        for number in 0..<3 { try stores.open(isConnected: false).put("x", "\(number)") }
        let outcome = try stores.open().pendingChanges.sync(until: .passed)
        #expect(outcome.left == 3)
        #expect(outcome.problem?.status == .timedOut)
        #expect(try stores.open().pendingChanges.sync().drained == 3)
    }

    /// A damaged record is named and counted. All other records are drained.
    @Test func syncNamesWhatItCannotRead() throws {
        try useService()
        try stores.open(isConnected: false).put("x")
        let damaged = try #require(vault.names(in: "vault/current/records").first)
        vault.write([0], to: "vault/current/records/" + damaged)
        try stores.open(isConnected: false).put("y", "bob")
        let outcome = try stores.open().pendingChanges.sync()
        #expect(outcome.drained == 1)
        #expect(outcome.left == 1)
        #expect(outcome.problem?.status == .corrupt)
        #expect(try lookUp("bob") == "y")
    }

    /// A hint without pending changes, left by a crash, is removed. All other hints stay.
    @Test func syncRemovesStaleHints() throws {
        try useService()
        try stores.open(stack: "any required vault").put("home", "home")
        try stores.open(isConnected: false).put("x")
        let home = try #require(
            vault.names(in: "vault/current/records").first { !vault.names(in: "vault/current/pending").contains($0) })
        vault.write([], to: "vault/current/pending/" + home)
        vault.write([], to: "vault/current/pending/" + String(repeating: "0", count: 32))
        #expect(try stores.open(isConnected: false).pendingChanges.sync().left == 1)
        #expect(vault.names(in: "vault/current/pending").count == 1)
        #expect(!vault.names(in: "vault/current/pending").contains(home))
    }

    // MARK: Pending changes

    @Test func theStatusListsPendingWrites() throws {
        #expect(try stores.open().status().pending.entries.isEmpty)
        let before = UnixTime.now
        try stores.open().put("old", "bob")
        try stores.open(isConnected: false).put("a")
        try stores.open(isConnected: false).clear(service: "example.com", account: "bob")
        let pending = try stores.open().status().pending
        #expect(pending.problem == nil)
        #expect(pending.entries.map(\.item?.account) == ["ann", "bob"])
        #expect(pending.entries.map(\.isRemoval) == [false, true])
        #expect(pending.entries.allSatisfy { $0.module == "secret-service" && $0.isOfThisMachine })
        #expect(pending.entries.allSatisfy { $0.since >= before })
    }

    // MARK: Forgetting

    @Test func forgettingAModuleKeepsItsItemsInTheVault() throws {
        try stores.open().put("old", "bob")
        let offline = try stores.open(isConnected: false)
        try offline.put("a")
        try offline.clear(service: "example.com", account: "bob")
        #expect(throws: TokenKeepError(.unavailable, "")) { try offline.value("nobody") }
        let outcome = try offline.pendingChanges.forget(module: "secret-service")
        #expect(outcome.wasUsed)
        #expect(outcome.kept == 1)
        #expect(outcome.givenUp == 1)
        #expect(outcome.problem == nil)
        #expect(try stores.record()?.isHome == true)
        #expect(try stores.record("bob") == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        #expect(try offline.value() == "a")
        #expect(try offline.value("nobody") == nil)
        #expect(try offline.value("bob") == nil)
        let again = try offline.pendingChanges.forget(module: "secret-service")
        #expect(!again.wasUsed)
        #expect(again.kept + again.givenUp == 0)
        #expect(throws: TokenKeepError(.invalid, "")) { try offline.pendingChanges.forget(module: "../used") }
    }

    /// A reachable service that was forgotten would return its old item in place of the pending value.
    @Test func aReachableModuleWithPendingWritesIsNotForgotten() throws {
        try stores.open().put("old")
        try stores.open().pendingChanges.checkIsAway(module: "secret-service")
        try stores.open(isConnected: false).put("new")
        try stores.open(isConnected: false).pendingChanges.checkIsAway(module: "secret-service")
        try stores.open(stack: "any required vault").pendingChanges.checkIsAway(module: "secret-service")
        #expect(throws: TokenKeepError(.policy, "")) {
            try stores.open().pendingChanges.checkIsAway(module: "secret-service")
        }
        try keyring.restart(unlocked: false)
        #expect(throws: TokenKeepError(.policy, "")) {
            try stores.open().pendingChanges.checkIsAway(module: "secret-service")
        }
        try keyring.restart()
        #expect(try stores.open().pendingChanges.sync().drained == 1)
        try stores.open().pendingChanges.checkIsAway(module: "secret-service")
        #expect(try stores.open().value() == "new")
    }

    /// Pending writes for the module on another machine, and for other modules on this one, stay.
    @Test func forgettingAModuleLeavesThePendingWritesOfOthers() throws {
        try useService()
        try stores.open(isConnected: false).put("a")
        let journal = stores.records
        let otherMachine = MachineID(bytes: [UInt8](repeating: 7, count: 16))
        let others = [("secret-service", otherMachine), ("elsewhere", .current)].map { module, machine in
            PendingWrite(module: module, machine: journal.hash(of: machine), kind: .write, since: UnixTime(5))
        }
        let saved = try #require(try stores.record())
        let item = try #require(try saved.item())
        do {
            var transaction = try journal.begin(name(), .patient)
            let pending = saved.pending + others
            try transaction.apply(.parts(value: item, pending: pending))
        }
        #expect(try stores.open().pendingChanges.forget(module: "secret-service").kept == 1)
        #expect(try stores.record()?.pending == others)
        #expect(try stores.record()?.isPending == true)
        #expect(vault.names(in: "vault/current/pending").count == 1)
        try Records(at: stores.path, machine: otherMachine).journal.markUsed("secret-service", .patient)
        let everywhere = try stores.open().pendingChanges.forget(module: "secret-service", onEveryMachine: true)
        #expect(everywhere.wasUsed)
        #expect(everywhere.kept == 1)
        #expect(try stores.record()?.pending == [others[1]])
        #expect(vault.names(in: "vault/current/used").isEmpty)
        #expect(try !stores.open().pendingChanges.forget(module: "secret-service", onEveryMachine: true).wasUsed)
    }
}
