import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Moves of items between the vault and a real gnome-keyring.
@Suite struct MigrationTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private var stores: TestStore { TestStore(keyring.bus, in: vault) }
    private var journal: Records { stores.records }

    init() throws { keyring = try PrivateKeyring() }

    private static let serviceFirst = TestStore.stack
    private static let vaultFirst = "any sufficient vault\nany required secret-service"

    /// Saves an item with everything that an item may have.
    private func saveWhole(
        _ store: Store, _ secret: String, _ account: String = "ann", service: String = "example.com"
    ) throws {
        try store.put(
            secret, account, service: service, level: .whenUnlocked, label: "label of \(account)",
            attributes: ItemAttributes([("client", "one")]), expiresAt: UnixTime(2_000_000_000))
    }

    private func lookUp(_ account: String = "ann") throws -> String {
        try keyring.bus.secretTool("lookup", "service", "example.com", "username", account).output
    }

    /// Leaves the record that an interrupted move leaves.
    private func begin(_ item: TokenItem, pending: [PendingWrite]) throws {
        var transaction = try journal.begin(item.details.name, .patient)
        try transaction.apply(.parts(value: item, pending: pending))
    }

    @Test func itemsMoveToTheVaultWhole() throws {
        for account in ["ann", "bob"] { try saveWhole(stores.open(), "token of \(account)", account) }
        try saveWhole(stores.open(), "x", service: "other")
        try saveWhole(stores.open(namespace: "two"), "y", "cyd")
        let before = try #require(try stores.open().item()).details
        var seen: [String] = []
        let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault", service: "example.com") {
            seen.append("\($0)/\($1)")
        }
        #expect(outcome.moved == 2)
        #expect(outcome.failures.isEmpty)
        #expect(seen == ["0/2", "1/2", "2/2"])
        #expect(try lookUp("ann") == "" && lookUp("bob") == "")
        #expect(try stores.record()?.isHome == true)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        let after = try #require(try stores.open(stack: "any required vault").item())
        #expect(after.secret.utf8String == "token of ann")
        #expect(after.details.version == before.version)
        #expect(after.details.label == before.label)
        #expect(after.details.accessLevel == .whenUnlocked)
        #expect(after.details.expiresAt == before.expiresAt)
        #expect(after.details.attributes == before.attributes)
        #expect(after.details.createdAt == before.createdAt)
        #expect(try stores.open().list().items.map(\.module) == ["vault", "vault", "secret-service"])
        #expect(try stores.open(namespace: "two").list().items.map(\.module) == ["secret-service"])
        #expect(
            try stores.open().transfer.migrate(from: "secret-service", to: "vault", service: "example.com").moved == 0)
    }

    @Test(arguments: [serviceFirst, vaultFirst])
    func andBackToTheService(stack: String) throws {
        try saveWhole(stores.open(stack: "any required vault"), "token")
        let before = try #require(try stores.open(stack: stack).item()).details
        #expect(try stores.open(stack: stack).transfer.migrate(from: "vault", to: "secret-service").moved == 1)
        #expect(try lookUp() == "token")
        #expect(try stores.record() == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        let after = try #require(try stores.open(stack: stack).item()).details
        #expect(after.module == "secret-service")
        #expect(after.version == before.version)
        #expect(after.attributes == before.attributes)
    }

    @Test func aDryRunChangesNothing() throws {
        try saveWhole(stores.open(), "token")
        let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault", isDryRun: true)
        #expect(outcome.moved == 1)
        #expect(outcome.failures.isEmpty)
        #expect(try lookUp() == "token")
        #expect(try stores.record() == nil)
        #expect(vault.names(in: "vault/current/records").isEmpty)
    }

    /// A move was killed after it had written the record. Another run completes the move, in either direction.
    @Test(arguments: ["vault", "secret-service"])
    func anotherRunCompletesWhatWasBegun(target: String) throws {
        let source = target == "vault" ? "secret-service" : "vault"
        try saveWhole(
            stores.open(stack: source == "vault" ? "any required vault" : MigrationTests.serviceFirst), "token")
        let item = try #require(try stores.open().item())
        let part = PendingWrite(
            module: "secret-service", machine: journal.hash(of: .current), kind: target == "vault" ? .remove : .write,
            since: .now)
        try begin(item, pending: [part])
        #expect(try stores.open(isConnected: false).value() == "token")
        #expect(try stores.open().transfer.migrate(from: source, to: target).moved == 1)
        #expect(try lookUp() == (target == "vault" ? "" : "token"))
        #expect(try stores.record()?.isHome == (target == "vault" ? true : nil))
        #expect(try stores.open().item()?.details.module == target)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
    }

    /// A move was killed after the source had lost the item, but before the record had changed.
    @Test func aMoveIsCompletedWhoseSourceIsEmptyAlready() throws {
        try saveWhole(stores.open(stack: "any required vault"), "token")
        let item = try #require(try stores.open().item())
        let part = PendingWrite(
            module: "secret-service", machine: journal.hash(of: .current), kind: .remove, since: .now)
        try begin(item, pending: [part])
        #expect(try stores.open().transfer.migrate(from: "secret-service", to: "vault").moved == 1)
        #expect(try stores.record()?.isHome == true)
        #expect(try stores.open().value() == "token")
    }

    /// An item that is pending for the service can be moved to the service, or back to the vault.
    @Test func pendingItemsMoveToo() throws {
        try saveWhole(stores.open(isConnected: false), "a", "ann")
        #expect(try stores.open().transfer.migrate(from: "vault", to: "secret-service").moved == 1)
        #expect(try lookUp() == "a")
        try saveWhole(stores.open(), "old", "bob")
        try saveWhole(stores.open(isConnected: false), "new", "bob")
        #expect(try stores.open().transfer.migrate(from: "secret-service", to: "vault").moved == 2)
        #expect(try lookUp("bob") == "")
        #expect(try stores.open(stack: "any required vault").value("bob") == "new")
    }

    /// An older item that a load does not show must not replace the item that a load shows.
    @Test func aHiddenCopyReplacesNothing() throws {
        try saveWhole(stores.open(stack: "any required vault"), "hidden")
        _ = try keyring.bus.secretTool(
            "store", "--label=x", "xdg:schema", "org.tokenkeep.Item", "service", "example.com", "username", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "after-first-unlock", input: "shown")
        let outcome = try stores.open().transfer.migrate(from: "vault", to: "secret-service")
        #expect(outcome.moved == 0)
        #expect(outcome.failures.map(\.item?.account) == ["ann"])
        #expect(outcome.worst?.status == .conflict)
        #expect(try lookUp() == "shown")
        #expect(
            try stores.open().transfer.migrate(from: "vault", to: "secret-service", isDryRun: true).worst?.status
                == .conflict)
        #expect(try stores.open().transfer.migrate(from: "secret-service", to: "vault").moved == 1)
        #expect(try stores.open().value() == "shown")
        #expect(try lookUp() == "")
    }

    @Test func whatIsClearedDoesNotRise() throws {
        try saveWhole(stores.open(), "old")
        try stores.open(isConnected: false).clear(service: "example.com", account: "ann")
        #expect(try stores.open().transfer.migrate(from: "secret-service", to: "vault").moved == 0)
        #expect(try stores.open().item() == nil)
    }

    @Test func aServiceThatIsAwayOrLockedLosesNothing() throws {
        try saveWhole(stores.open(stack: "any required vault"), "token")
        try saveWhole(stores.open(stack: "any required secret-service"), "other", "bob")
        #expect(throws: TokenKeepError(.unavailable, "")) {
            try stores.open(isConnected: false).transfer.migrate(from: "secret-service", to: "vault")
        }
        for isDryRun in [true, false] {
            #expect(throws: TokenKeepError(.unavailable, "")) {
                try stores.open(isConnected: false).transfer.migrate(
                    from: "vault", to: "secret-service", isDryRun: isDryRun)
            }
        }
        try keyring.restart(unlocked: false)
        let locked = try stores.open().transfer.migrate(from: "vault", to: "secret-service")
        #expect(locked.worst?.status == .locked)
        #expect(try stores.record()?.isHome == true)
        try keyring.restart()
        #expect(try stores.open().transfer.migrate(from: "vault", to: "secret-service").moved == 1)
        #expect(try lookUp() == "token")
    }

    /// A service that was never used here, and is absent, does not count as an empty source or target.
    @Test func aServiceThatIsAbsentTakesNothing() throws {
        try saveWhole(stores.open(stack: "any required vault"), "token")
        #expect(throws: TokenKeepError(.unavailable, "")) {
            try stores.open(isConnected: false).transfer.migrate(from: "vault", to: "secret-service")
        }
        #expect(try stores.record()?.isHome == true)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
        #expect(vault.names(in: "vault/current/used").isEmpty)
    }

    @Test func aDamagedRecordIsNamedAndLeft() throws {
        try saveWhole(stores.open(stack: "any required vault"), "a", "ann")
        let damaged = try #require(vault.names(in: "vault/current/records").first)
        vault.write([0], to: "vault/current/records/" + damaged)
        try saveWhole(stores.open(stack: "any required vault"), "b", "bob")
        let outcome = try stores.open().transfer.migrate(from: "vault", to: "secret-service")
        #expect(outcome.moved == 1)
        #expect(outcome.worst?.status == .corrupt)
        #expect(try lookUp("bob") == "b")
        #expect(vault.names(in: "vault/current/records") == [damaged])
    }

    @Test func refusesWhatCannotBeMoved() throws {
        let store = try stores.open(stack: "any sufficient secret-service\nany required vault\nany optional memory")
        func status(_ source: String, _ target: String) -> Status? {
            do {
                _ = try store.transfer.migrate(from: source, to: target)
                return nil
            } catch { return error.status }
        }
        #expect(status("vault", "vault") == .invalid)
        #expect(status("vault", "nowhere") == .invalid)
        #expect(status("memory", "vault") == .unsupported)
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try stores.open(stack: "any required vault").transfer.migrate(from: "vault", to: "secret-service")
        }
    }

    // MARK: Other programs' items

    /// Stores an item as another program does, named only by service and username.
    private func storeForeign(_ secret: String, _ account: String = "ann", _ more: String...) throws {
        let names = ["service", "example.com", "username", account] + more
        let done = try ChildProcess.run(
            "/usr/bin/secret-tool", ["store", "--label=Ann's"] + names, environment: keyring.bus.environment,
            input: secret)
        try #require(done.status == 0)
    }

    private func lookUpTwin() throws -> String {
        try keyring.bus.secretTool(
            "lookup", "service", "example.com", "username", "ann", "application", "Python keyring library"
        ).output
    }

    private func saveWithoutLabel(_ secret: String, expires: Bool = false) throws {
        try stores.open(stack: "any required vault").put(
            secret, expiresAt: expires ? UnixTime(2_000_000_000) : nil)
    }

    /// A move overwrites another program's item with the same value in place, so that the item keeps its label.
    @Test(arguments: [serviceFirst, vaultFirst], [false, true])
    func anItemMovesOntoAnotherProgramsOfTheSameValue(stack: String, expires: Bool) throws {
        try saveWithoutLabel("token", expires: expires)
        try storeForeign("token")
        let outcome = try stores.open(stack: stack).transfer.migrate(from: "vault", to: "secret-service")
        #expect(outcome.moved == 1)
        #expect(outcome.failures.isEmpty)
        #expect(try lookUp() == "token")
        #expect(try stores.record() == nil)
        let after = try #require(try stores.open(stack: stack).item())
        #expect(after.secret.utf8String == "token")
        #expect(after.details.label == "example.com (ann)")
        #expect(after.details.module == "secret-service")
        #expect(after.details.expiresAt == (expires ? UnixTime(2_000_000_000) : nil))
    }

    /// A move never replaces another program's value, whether it is newer or older, and whichever a load shows.
    @Test(arguments: [serviceFirst, vaultFirst], [true, false])
    func anItemDoesNotMoveOntoAnotherProgramsOtherValue(stack: String, isNewer: Bool) throws {
        if !isNewer { try storeForeign("theirs") }
        try saveWithoutLabel("token")
        if isNewer { try storeForeign("theirs") }
        for isDryRun in [true, false] {
            let outcome = try stores.open(stack: stack).transfer.migrate(
                from: "vault", to: "secret-service", isDryRun: isDryRun)
            #expect(outcome.moved == 0)
            #expect(outcome.worst?.status == .conflict)
        }
        #expect(try lookUp() == "theirs")
        #expect(try stores.record()?.isHome == true)
        #expect(try stores.open(stack: "any required vault").value() == "token")
    }

    /// A move does not replace the value of another program's item that lies hidden behind TokenKeep's item.
    @Test func anItemDoesNotMoveOntoATwinOfAnotherValue() throws {
        try storeForeign("theirs", "ann", "application", "Python keyring library")
        _ = try keyring.bus.secretTool(
            "store", "--label=x", "xdg:schema", "org.tokenkeep.Item", "service", "example.com", "username", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "after-first-unlock", input: "token")
        try saveWithoutLabel("token")
        #expect(try stores.open().value("ann") == "token")
        #expect(try stores.open().transfer.migrate(from: "vault", to: "secret-service").worst?.status == .conflict)
        #expect(try lookUpTwin() == "theirs")
    }

    /// A move replaces no later value in the target, whichever module a load asks first.
    @Test func aNewerHiddenCopyReplacesNothingAndIsNotReplaced() throws {
        try saveWhole(stores.open(), "old")
        awaitNextSecond()
        try saveWhole(stores.open(stack: "any required vault"), "newer")
        for isDryRun in [true, false] {
            let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault", isDryRun: isDryRun)
            #expect(outcome.worst?.status == .conflict)
        }
        #expect(try lookUp() == "old")
        #expect(try stores.open(stack: "any required vault").value() == "newer")
    }

    /// An item is not moved if the source also has another program's item of the same name.
    @Test(arguments: ["ours", "theirs"], [false, true])
    func anItemWithAnotherProgramsTwinIsNotMoved(theirs: String, isNewer: Bool) throws {
        try saveWhole(stores.open(), "ours")
        if isNewer { awaitNextSecond() }
        try storeForeign(theirs, "ann", "application", "Python keyring library")
        let shown = isNewer ? theirs : "ours"
        for isDryRun in [true, false] {
            let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault", isDryRun: isDryRun)
            #expect(outcome.moved == 0)
            #expect(outcome.worst?.status == .conflict)
        }
        #expect(try lookUpTwin() == theirs)
        if isNewer { #expect(try stores.open().value() == shown) }
        #expect(try stores.open().list().items.count == 1)
        #expect(try stores.record() == nil)
        #expect(vault.names(in: "vault/current/pending").isEmpty)
    }

    /// An item with a write pending is not moved while another program has an item of the same name in the source.
    @Test func aPendingWriteOverAnotherProgramsItemStaysPending() throws {
        try storeForeign("theirs")
        #expect(try stores.open().value() == "theirs")
        try saveWhole(stores.open(isConnected: false), "ours")
        let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault")
        #expect(outcome.worst?.status == .conflict)
        #expect(try lookUp() == "theirs")
        #expect(try stores.record()?.pending.map(\.kind) == [.write])
    }

    /// An item that only another program has is neither listed nor moved.
    @Test func whatOnlyAnotherProgramHasIsNotMoved() throws {
        try storeForeign("theirs")
        let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault")
        #expect(outcome.moved == 0 && outcome.failures.isEmpty)
        #expect(try lookUp() == "theirs")
    }

    /// Concurrent readers see the item at every moment of a move there and back.
    @Test func aMoveIsNeverSeen() async throws {
        try saveWhole(stores.open(), "token")
        let moved = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for _ in 0..<10 {
                    _ = try stores.open().transfer.migrate(from: "secret-service", to: "vault")
                    _ = try stores.open().transfer.migrate(from: "vault", to: "secret-service")
                }
                return true
            }
            group.addTask {
                let reader = try stores.open()
                for _ in 0..<200 { #expect(try reader.value() == "token") }
                return true
            }
            return try await group.reduce(true) { $0 && $1 }
        }
        #expect(moved)
        #expect(try stores.open().value() == "token")
    }
}
