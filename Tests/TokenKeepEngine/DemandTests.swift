import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Items that require more protection than the service provides, and a locked vault beside an unlocked service.
@Suite final class DemandTests: Sendable {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private let password: SecretBytes
    private let store: Store

    init() throws {
        password = try SecretBytes("horse")
        store = try world.store(vaultPath: directory.path + "/vault", isConnected: true)
        _ = try store.passwords.set(password)
    }

    /// Removes the vault's keys from the kernel, which allows a user only 200 keys.
    deinit { _ = try? store.lock() }

    private func name(_ account: String = "ann") throws -> ItemName {
        try ItemName(service: "example.com", account: account)
    }

    @discardableResult
    private func save(
        _ secret: String, level: AccessLevel? = nil, flags: ItemFlags = [], in store: Store? = nil
    ) throws -> SaveOutcome {
        try (store ?? self.store).save(
            SaveRequest(name: name(), secret: SecretBytes(secret), accessLevel: level, flags: flags))
    }

    private func load() throws -> String? {
        try store.load(service: "example.com", account: "ann").secret.utf8String
    }

    private var isInService: Bool { (try? name()).map { world.items[$0] != nil } ?? false }

    @Test func theServiceNeverGetsAnItemThatRequiresMore() throws {
        try save("plain")
        #expect(isInService)
        // A save with a higher requirement removes the older value from the service.
        #expect(try save("one", flags: .requireEnforced).module == "vault")
        #expect(!isInService)
        #expect(try load() == "one")
        // A save without a level keeps the requirement. A save that drops the requirement is refused.
        #expect(try save("two").module == "vault")
        #expect(!isInService)
        #expect(throws: TokenKeepError(.policy, "")) { try save("three", level: .afterFirstUnlock) }
        #expect(try load() == "two" && !isInService)
        #expect(throws: TokenKeepError(.policy, "")) { try save("four", level: .whenUnlocked, flags: .requireEnforced) }
        try store.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try load() }
        #expect(throws: TokenKeepError(.locked, "")) { try save("five") }
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(throws: TokenKeepError(.notFound, "")) { try load() }
    }

    @Test func whatIsToBeLockedWithTheScreenStaysInTheVault() throws {
        #expect(try save("one", level: .whenUnlocked).module == "vault")
        #expect(!isInService)
        try store.lock(.screen)
        #expect(throws: TokenKeepError(.locked, "")) { try load() }
        #expect(try save("two", level: .afterFirstUnlock).module == "secret-service")
        #expect(try load() == "two" && isInService)
    }

    @Test func aServiceThatIsAwayGetsNothingOfItLater() throws {
        world.become(.down)
        try save("one", flags: .requireEnforced)
        world.become(.up)
        _ = try store.pendingChanges.sync()
        #expect(!isInService)
        #expect(try load() == "one")
    }

    @Test func aStackWithoutTheVaultRefusesARequirement() throws {
        let alone = try world.store(
            vaultPath: directory.path + "/vault", isConnected: true, stack: "any required secret-service")
        #expect(throws: TokenKeepError(.policy, "")) { try save("one", flags: .requireEnforced, in: alone) }
        #expect(try save("one", level: .whenUnlocked, in: alone).module == "secret-service")
        #expect(try alone.protection(of: .whenUnlocked)[.screenLock].strength == .none)
        #expect(throws: TokenKeepError(.policy, "")) { try save("one", flags: .userPresence, in: alone) }
    }

    @Test func aPendingWriteWaitsForTheKeyAndIsClearedWithoutIt() throws {
        #expect(throws: TokenKeepError(.notFound, "")) { try load() }  // marks the service as used
        world.become(.down)
        try save("owed")
        try store.lock()
        world.become(.up)
        #expect(throws: TokenKeepError(.locked, "")) { try load() }
        #expect(!isInService)
        try store.unlock(password)
        #expect(try load() == "owed")
        #expect(isInService)
        world.become(.down)
        try save("again")
        try store.lock()
        world.become(.up)
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(throws: TokenKeepError(.notFound, "")) { try load() }
        #expect(!isInService)
    }

    @Test func theServiceAnswersWhileTheVaultIsLocked() throws {
        try save("plain")
        try store.lock()
        #expect(try load() == "plain")
        try save("other")
        #expect(try load() == "other")
    }

    @Test func anInteractiveSaveWithoutTheServiceAsksForThePassword() throws {
        let questions = MutexGuarded(0)
        let password = password
        let store = try world.store(vaultPath: directory.path + "/vault", isConnected: true) {
            _ throws(TokenKeepError) in
            questions.withLock { $0 += 1 }
            return password
        }
        world.become(.down)
        try self.store.lock()
        #expect(try save("one", in: store).module == "vault")
        #expect(questions.withLock { $0 } == 1)
        #expect(try load() == "one")
    }

    @Test func aRequirementOfAMemoryOnlyItemIsKept() throws {
        try save("one", level: .memoryOnly)
        #expect(throws: TokenKeepError(.policy, "")) { try save("two", flags: .userPresence) }
        try save("three", flags: .requireEnforced)
        for level in [AccessLevel.memoryOnly, .afterFirstUnlock] {
            #expect(throws: TokenKeepError(.policy, "")) { try save("four", level: level) }
        }
        #expect(try load() == "three")
        #expect(try save("five", level: .afterFirstUnlock, flags: .requireEnforced).module == "vault")
    }

    @Test func aPartialExportLeavesOutWhatIsLockedAndNothingElse() throws {
        try save("plain")
        let passphrase = try SecretBytes("p")
        world.become(.locked)
        #expect(throws: TokenKeepError(.locked, "")) {
            try store.transfer.export(to: directory.path + "/one", passphrase: passphrase)
        }
        let outcome = try store.transfer.export(to: directory.path + "/one", passphrase: passphrase, isPartial: true)
        #expect(outcome.exported == 0 && outcome.lockedPlace != nil)
        // An unavailable module does not count as locked, even if the vault is locked.
        world.become(.up)
        try save("vault", level: .whenUnlocked)
        try store.lock()
        world.become(.down)
        #expect(throws: TokenKeepError(.unavailable, "")) {
            try store.transfer.export(to: directory.path + "/two", passphrase: passphrase, isPartial: true)
        }
    }

    /// The report is the weakest protection among the modules where a save may end.
    @Test func theReportIsThatOfTheStack() throws {
        let plain = try store.protection(of: .afterFirstUnlock)
        #expect(plain[.diskTheft].strength == .none)  // the scripted service states no protection
        let demanded = try store.protection(of: .afterFirstUnlock, .requireEnforced)
        #expect(demanded[.otherUser].strength == .enforced && demanded[.diskTheft].strength == .enforced)
        #expect(try store.protection(of: .whenUnlocked)[.screenLock].strength == .advisory)
        #expect(try store.protection(of: .memoryOnly)[.otherMachine].strength == .enforced)
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try store.protection(of: .whenUnlockedThisDeviceOnly)
        }
    }
}
