import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Draining, forgetting and moving, with a real gnome-keyring.
@Suite struct MovingTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private let call = CallContext(deadline: Deadline(milliseconds: 60_000))

    init() throws { keyring = try PrivateKeyring() }

    /// A store with the default stack, without a bus if `isConnected` is false.
    private func open(
        isConnected: Bool = true, namespace: String = "", stack: String? = nil, trace: StackTraceHandler? = nil,
        clock: @escaping @Sendable () -> UnixTime = { .now }
    ) throws -> Store {
        var configuration = StoreConfiguration(
            stackText: stack ?? "any sufficient secret-service\nany required vault", namespace: namespace)
        configuration.vaultPath = vault.path + "/vault"
        configuration.use(keyring, isConnected: isConnected)
        configuration.stackDirectories = .none
        configuration.trace = trace
        configuration.clock = clock
        return try Store(configuration)
    }

    @discardableResult
    private func save(_ store: Store, _ secret: String, _ account: String = "ann") throws -> SaveOutcome {
        try store.save(
            SaveRequest(
                name: ItemName(namespace: store.namespace, service: "example.com", account: account),
                secret: SecretBytes(secret), label: "label of \(account)",
                attributes: ItemAttributes([("client", "one")]), expiresAt: UnixTime(2_000_000_000)))
    }

    private func load(_ store: Store, _ account: String = "ann") throws -> String? {
        try store.load(service: "example.com", account: account).secret.utf8String
    }

    private func lookUp(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool("lookup", "service", "example.com", "username", account).output
    }

    private func record(_ account: String = "ann", namespace: String = "") throws -> JournalRecord? {
        try Records(at: vault.path + "/vault").record(
            of: ItemName(namespace: namespace, service: "example.com", account: account), call)
    }

    // MARK: Sync

    @Test func syncDrainsEveryNamespace() throws {
        try save(open(), "old", "bob")
        keyring.stop()
        try save(open(isConnected: false), "a")
        try save(open(isConnected: false, namespace: "two"), "b", "cyd")
        try open(isConnected: false).clear(service: "example.com", account: "bob")
        let early = try open(isConnected: false).pendingChanges.sync()
        #expect(early.drained == 0)
        #expect(early.left == 3)
        #expect(early.pendingModules == ["secret-service"])
        #expect(early.problem == nil)
        try keyring.restart()
        #expect(try lookUp("bob") == "old")
        var seen: [String] = []
        let outcome = try open().pendingChanges.sync { seen.append("\($0)/\($1)") }
        #expect(outcome.drained == 3)
        #expect(outcome.left == 0)
        #expect(outcome.pendingModules.isEmpty)
        #expect(seen == ["0/3", "1/3", "2/3", "3/3"])
        #expect(try lookUp("bob") == "")
        #expect(try lookUp() == "a")
        #expect(try load(open(namespace: "two"), "cyd") == "b")
        #expect(try record("cyd", namespace: "two") == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        #expect(vault.names(in: "vault/current/records").isEmpty)
        #expect(try open().pendingChanges.sync().drained == 0)
    }

    @Test func syncLeavesPendingWritesOfALockedService() throws {
        try save(open(), "old")
        keyring.stop()
        try save(open(isConnected: false), "new")
        try keyring.restart(unlocked: false)
        let outcome = try open().pendingChanges.sync()
        #expect(outcome.left == 1)
        #expect(outcome.problem == nil)
        #expect(outcome.obstacle?.status == .locked)
        #expect(try load(open(isConnected: false)) == "new")
        try keyring.restart()
        #expect(try open().pendingChanges.sync().drained == 1)
        #expect(try lookUp() == "new")
    }

    /// The trace says why a change is still pending, and later whether the drain applied or dropped the change.
    @Test func theAnswersOfModulesToADrainAreTraced() throws {
        try save(open(), "old")
        keyring.stop()
        // This store's clock is slow, so that another program's later change is later in whole seconds too.
        let cron = try open(isConnected: false, clock: { UnixTime(UnixTime.now.rawValue - 60) })
        try save(cron, "new")
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
        try save(open(), "old")
        let cron = try open(isConnected: false, clock: { UnixTime(UnixTime.now.rawValue - 60) })
        if isCleared {
            try cron.clear(service: "example.com", account: "ann")
        } else {
            try save(cron, "new")
        }
        awaitNextSecond()
        let twin = try keyring.bus.secretTool(
            "store", "--label", "x", "service", "example.com", "username", "ann", "application", "other",
            input: "theirs")
        try #require(twin.status == 0)
        #expect(try open().pendingChanges.sync().left == 0)
        #expect(try load(open()) == "theirs")
        let gone = try keyring.bus.secretTool("clear", "application", "other")
        try #require(gone.status == 0)
        #expect(throws: TokenKeepError(.notFound, "")) { try load(open()) }
        #expect(try lookUp() == "")
    }

    private func trace(_ body: (Store) throws -> Void) throws -> [String] {
        let lines = MutexGuarded<[String]>([])
        try body(open { line in lines.withLock { $0.append(line.description) } })
        return lines.withLock { $0 }
    }

    /// Marks the service as used: its absence is an outage from now on.
    private func useService() throws { _ = try? open().load(service: "example.com", account: "nobody") }

    @Test func syncKeepsItsDeadline() throws {
        try useService()
        for number in 0..<3 { try save(open(isConnected: false), "x", "\(number)") }
        let outcome = try open().pendingChanges.sync(until: Deadline(milliseconds: 0))
        #expect(outcome.left == 3)
        #expect(outcome.problem?.status == .timedOut)
        #expect(try open().pendingChanges.sync().drained == 3)
    }

    /// A damaged record is named and counted. All other records are drained.
    @Test func syncNamesWhatItCannotRead() throws {
        try useService()
        try save(open(isConnected: false), "x")
        let damaged = try #require(vault.names(in: "vault/current/records").first)
        vault.write([0], to: "vault/current/records/" + damaged)
        try save(open(isConnected: false), "y", "bob")
        let outcome = try open().pendingChanges.sync()
        #expect(outcome.drained == 1)
        #expect(outcome.left == 1)
        #expect(outcome.problem?.status == .corrupt)
        #expect(try lookUp("bob") == "y")
    }

    /// A hint without pending changes, left by a crash, is removed. All other hints stay.
    @Test func syncRemovesStaleHints() throws {
        try useService()
        try save(open(stack: "any required vault"), "home", "home")
        try save(open(isConnected: false), "x")
        let home = try #require(
            vault.names(in: "vault/current/records").first { !vault.names(in: "vault/current/pending").contains($0) })
        vault.write([], to: "vault/current/pending/" + home)
        vault.write([], to: "vault/current/pending/" + String(repeating: "0", count: 32))
        #expect(try open(isConnected: false).pendingChanges.sync().left == 1)
        #expect(vault.names(in: "vault/current/pending").count == 1)
        #expect(!vault.names(in: "vault/current/pending").contains(home))
    }

    // MARK: Pending changes

    @Test func theStatusListsPendingWrites() throws {
        #expect(try open().status().pending.entries.isEmpty)
        let before = UnixTime.now
        try save(open(), "old", "bob")
        try save(open(isConnected: false), "a")
        try open(isConnected: false).clear(service: "example.com", account: "bob")
        let pending = try open().status().pending
        #expect(pending.problem == nil)
        #expect(pending.entries.map(\.item?.account) == ["ann", "bob"])
        #expect(pending.entries.map(\.isRemoval) == [false, true])
        #expect(pending.entries.allSatisfy { $0.module == "secret-service" && $0.isOfThisMachine })
        #expect(pending.entries.allSatisfy { $0.since >= before })
    }

    // MARK: Forgetting

    @Test func forgettingAModuleKeepsItsItemsInTheVault() throws {
        try save(open(), "old", "bob")
        let offline = try open(isConnected: false)
        try save(offline, "a")
        try offline.clear(service: "example.com", account: "bob")
        #expect(throws: TokenKeepError(.unavailable, "")) { try load(offline, "nobody") }
        let outcome = try offline.pendingChanges.forget(module: "secret-service")
        #expect(outcome.wasUsed)
        #expect(outcome.kept == 1)
        #expect(outcome.givenUp == 1)
        #expect(outcome.problem == nil)
        #expect(try record()?.isHome == true)
        #expect(try record("bob") == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        #expect(try load(offline) == "a")
        #expect(throws: TokenKeepError(.notFound, "")) { try load(offline, "nobody") }
        #expect(throws: TokenKeepError(.notFound, "")) { try load(offline, "bob") }
        let again = try offline.pendingChanges.forget(module: "secret-service")
        #expect(!again.wasUsed)
        #expect(again.kept + again.givenUp == 0)
        #expect(throws: TokenKeepError(.invalid, "")) { try offline.pendingChanges.forget(module: "../used") }
    }

    /// A reachable service that was forgotten would return its old item in place of the pending value.
    @Test func aReachableModuleWithPendingWritesIsNotForgotten() throws {
        try save(open(), "old")
        try open().pendingChanges.checkIsAway(module: "secret-service")
        try save(open(isConnected: false), "new")
        try open(isConnected: false).pendingChanges.checkIsAway(module: "secret-service")
        try open(stack: "any required vault").pendingChanges.checkIsAway(module: "secret-service")
        #expect(throws: TokenKeepError(.policy, "")) { try open().pendingChanges.checkIsAway(module: "secret-service") }
        try keyring.restart(unlocked: false)
        #expect(throws: TokenKeepError(.policy, "")) { try open().pendingChanges.checkIsAway(module: "secret-service") }
        try keyring.restart()
        #expect(try open().pendingChanges.sync().drained == 1)
        try open().pendingChanges.checkIsAway(module: "secret-service")
        #expect(try load(open()) == "new")
    }

    /// Pending writes for the module on another machine, and for other modules on this one, stay.
    @Test func forgettingAModuleLeavesThePendingWritesOfOthers() throws {
        try useService()
        try save(open(isConnected: false), "a")
        let journal = Records(at: vault.path + "/vault")
        let name = try ItemName(service: "example.com", account: "ann")
        let otherMachine = MachineID(bytes: [UInt8](repeating: 7, count: 16))
        let others = [("secret-service", otherMachine), ("elsewhere", .current)].map { module, machine in
            PendingWrite(module: module, machine: journal.hash(of: machine), kind: .write, since: UnixTime(5))
        }
        let owing = try #require(try record())
        let item = try #require(try owing.item())
        do {
            var transaction = try journal.begin(name, call)
            let pending = owing.pending + others
            try transaction.apply(.parts(value: item, pending: pending))
        }
        #expect(try open().pendingChanges.forget(module: "secret-service").kept == 1)
        #expect(try record()?.pending == others)
        #expect(try record()?.isPending == true)
        #expect(vault.names(in: "vault/current/pending").count == 1)
        try Records(at: vault.path + "/vault", machine: otherMachine).journal.markUsed("secret-service", call)
        let everywhere = try open().pendingChanges.forget(module: "secret-service", onEveryMachine: true)
        #expect(everywhere.wasUsed)
        #expect(everywhere.kept == 1)
        #expect(try record()?.pending == [others[1]])
        #expect(vault.names(in: "vault/current/used").isEmpty)
        #expect(try !open().pendingChanges.forget(module: "secret-service", onEveryMachine: true).wasUsed)
    }
}
