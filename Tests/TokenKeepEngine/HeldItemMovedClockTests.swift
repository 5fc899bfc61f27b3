import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Calls on an item that another process or call holds longer than they may last.
@Suite struct HeldItemMovedClockTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    /// Whether a call waits for a lock of the vault.
    private func isAwaited(_ directory: TemporaryDirectory) -> @Sendable () -> Bool {
        { KernelLocks.isWaited(below: directory.path) }
    }

    /// The load may not drain, and answers all the same.
    @Test func aLoadAnswersTheRecord() throws {
        let store = try stores.open()
        try store.put("old")
        world.become(.down)
        try store.put("ours")
        world.become(.up)
        let holder = try stores.records.begin(name(), .patient)
        // The drain ends with its share of the call's time, so that the load can answer in time.
        let loaded = try TestClock.passLimits(when: isAwaited(directory), by: 0.2) { try store.value() }
        #expect(loaded.answer == "ours")
        _ = consume holder
    }

    /// Another process saves between a drain's list of the items and its removals. The save also drains the removal.
    @Test(arguments: 0..<4) func aDrainThatWasOvertakenTakesNothingNewer(calls: Int) throws {
        for account in ["ann", "bob"] { try stores.open().put("old", account) }
        world.become(.down)
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        let other = try stores.open()
        let request = try SaveRequest(name: name("bob"), secret: SecretBytes("new"))
        // the save is BUSY while the drain holds the same item's lock
        var isSaved = false
        world.interlude = (
            {
                _ = try? TestClock.passLimits { isSaved = (try? other.save(request, until: .patient)) != nil }
            }, calls
        )
        _ = try stores.open().pendingChanges.sync()
        #expect(try stores.open().value("bob") == (isSaved ? "new" : nil))
        #expect(try stores.open().value("ann") == nil)
        #expect(world.items.keys.map(\.account) == (isSaved ? ["bob"] : []))
        if calls == 0 { #expect(isSaved) }
    }

    /// The save waits for the item's lock: the keys may be replaced before the service has the secret.
    @Test func nothingIsSealedWhileAnotherHoldsTheItem() throws {
        let world = try SealingWorld()
        let other = try world.open(stack: "any [ok=done default=ignore] shelf\n" + world.stack) {
            $0.standIns = ["shelf": { _ in ShelfThatTakesNothing() }]
        }
        try world.save("one", level: .whenUnlocked)
        do {
            let name = try name()
            let held = try world.store.records.begin(name, .patient)
            #expect(throws: TokenKeepError(.busy, "")) {
                // The limits of the keyring, which is a real program, must not pass before.
                try TestClock.passLimits(when: isAwaited(world.directory)) {
                    try other.save(
                        SaveRequest(name: name, secret: SecretBytes("two"), accessLevel: .whenUnlocked), until: .patient
                    )
                }
            }
            #expect(held.name == name)
        }
        #expect(try world.load() == "one")
        try other.put("two", level: .whenUnlocked)
        #expect(try world.load() == "two" && world.plain() == "")
    }
}
