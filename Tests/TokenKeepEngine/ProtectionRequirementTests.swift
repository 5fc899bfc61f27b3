import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Items that require more protection than the service provides, and a locked vault beside an unlocked service.
@Suite final class ProtectionRequirementTests: Sendable {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }
    private let password: SecretBytes
    private let store: Store

    init() throws {
        password = try SecretBytes("horse")
        store = try TestStore(world, in: directory).open()
        _ = try store.passwords.set(password)
    }

    /// Removes the vault's keys from the kernel, which allows a user only 200 keys.
    deinit { _ = try? store.lock() }

    private var isInService: Bool { (try? name()).map { world.items[$0] != nil } ?? false }

    @Test func theServiceNeverGetsAnItemThatRequiresMore() throws {
        try store.put("plain")
        #expect(isInService)
        // A save with a higher requirement removes the older value from the service.
        #expect(try store.put("one", flags: .requireEnforced).module == "vault")
        #expect(!isInService)
        #expect(try store.value() == "one")
        // A save without a level keeps the requirement. A save that drops the requirement is refused.
        #expect(try store.put("two").module == "vault")
        #expect(!isInService)
        #expect(throws: TokenKeepError(.policy, "")) { try store.put("three", level: .afterFirstUnlock) }
        #expect(try store.value() == "two" && !isInService)
        #expect(throws: TokenKeepError(.policy, "")) {
            try store.put("four", level: .whenUnlocked, flags: .requireEnforced)
        }
        try store.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try store.value() }
        #expect(throws: TokenKeepError(.locked, "")) { try store.put("five") }
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(try store.value() == nil)
    }

    @Test func whatIsToBeLockedWithTheScreenStaysInTheVault() throws {
        #expect(try store.put("one", level: .whenUnlocked).module == "vault")
        #expect(!isInService)
        try store.lock(.screen)
        #expect(throws: TokenKeepError(.locked, "")) { try store.value() }
        #expect(try store.put("two", level: .afterFirstUnlock).module == "secret-service")
        #expect(try store.value() == "two" && isInService)
    }

    @Test func aServiceThatIsAwayGetsNothingOfItLater() throws {
        world.become(.down)
        try store.put("one", flags: .requireEnforced)
        world.become(.up)
        _ = try store.pendingChanges.sync()
        #expect(!isInService)
        #expect(try store.value() == "one")
    }

    @Test func aStackWithoutTheVaultRefusesARequirement() throws {
        let alone = try stores.open(stack: "any required secret-service")
        #expect(throws: TokenKeepError(.policy, "")) { try alone.put("one", flags: .requireEnforced) }
        #expect(try alone.put("one", level: .whenUnlocked).module == "secret-service")
        #expect(try alone.protection(of: .whenUnlocked)[.screenLock].strength == .none)
        #expect(throws: TokenKeepError(.policy, "")) { try alone.put("one", flags: .userPresence) }
    }

    @Test func aPendingWriteWaitsForTheKeyAndIsClearedWithoutIt() throws {
        #expect(try store.value() == nil)  // marks the service as used
        world.become(.down)
        try store.put("pending")
        try store.lock()
        world.become(.up)
        #expect(throws: TokenKeepError(.locked, "")) { try store.value() }
        #expect(!isInService)
        try store.unlock(password)
        #expect(try store.value() == "pending")
        #expect(isInService)
        world.become(.down)
        try store.put("again")
        try store.lock()
        world.become(.up)
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(try store.value() == nil)
        #expect(!isInService)
    }

    @Test func theServiceAnswersWhileTheVaultIsLocked() throws {
        try store.put("plain")
        try store.lock()
        #expect(try store.value() == "plain")
        try store.put("other")
        #expect(try store.value() == "other")
    }

    @Test func anInteractiveSaveWithoutTheServiceAsksForThePassword() throws {
        let questions = MutexGuarded(0)
        let password = password
        let store = try stores.open {
            $0.isInteractive = true
            $0.prompt = { _ throws(TokenKeepError) in
                questions.withLock { $0 += 1 }
                return password
            }
        }
        world.become(.down)
        try self.store.lock()
        #expect(try store.put("one").module == "vault")
        #expect(questions.withLock { $0 } == 1)
        #expect(try self.store.value() == "one")
    }

    @Test func aRequirementOfAMemoryOnlyItemIsKept() throws {
        try store.put("one", level: .memoryOnly)
        #expect(throws: TokenKeepError(.policy, "")) { try store.put("two", flags: .userPresence) }
        try store.put("three", flags: .requireEnforced)
        for level in [AccessLevel.memoryOnly, .afterFirstUnlock] {
            #expect(throws: TokenKeepError(.policy, "")) { try store.put("four", level: level) }
        }
        #expect(try store.value() == "three")
        #expect(try store.put("five", level: .afterFirstUnlock, flags: .requireEnforced).module == "vault")
    }

    @Test func aPartialExportLeavesOutWhatIsLockedAndNothingElse() throws {
        try store.put("plain")
        let passphrase = try SecretBytes("p")
        world.become(.locked)
        #expect(throws: TokenKeepError(.locked, "")) {
            try store.transfer.export(to: directory.path + "/one", passphrase: passphrase)
        }
        let outcome = try store.transfer.export(to: directory.path + "/one", passphrase: passphrase, isPartial: true)
        #expect(outcome.exported == 0 && outcome.lockedPlace != nil)
        // An unavailable module does not count as locked, even if the vault is locked.
        world.become(.up)
        try store.put("vault", level: .whenUnlocked)
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
        let required = try store.protection(of: .afterFirstUnlock, .requireEnforced)
        #expect(required[.otherUser].strength == .enforced && required[.diskTheft].strength == .enforced)
        #expect(try store.protection(of: .whenUnlocked)[.screenLock].strength == .advisory)
        #expect(try store.protection(of: .memoryOnly)[.otherMachine].strength == .enforced)
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try store.protection(of: .whenUnlockedThisDeviceOnly)
        }
    }
}
