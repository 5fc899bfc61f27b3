import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Another program changes an item of the service while our change is pending, or after the clock was set.
@Suite struct ForeignChangeTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private func clear(_ store: Store) throws { try store.clear(service: "example.com", account: "ann") }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    private func secondsPass(_ seconds: Int64 = 2) { world.now = UnixTime(world.now.rawValue + seconds) }

    private func otherProgramSaves(_ secret: String) throws {
        let name = try name()
        world.put(ItemDetails(name: name, label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    /// Another program saves while the service is unavailable to us, for example because its collection is locked.
    private func otherProgramSavesDuringOutage(_ secret: String) throws {
        try otherProgramSaves(secret)
        world.become(.up)
    }

    // MARK: Loads

    @Test func theLoadThatDrainsAnswersTheNewerValue() throws {
        try stores.open().put("old")
        world.become(.down)
        try stores.open().put("ours")
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(try stores.open().value() == "theirs")
        #expect(stored == "theirs")
    }

    @Test func theLoadThatDrainsARemovalAnswersTheNewerValue() throws {
        try stores.open().put("old")
        world.become(.down)
        try clear(stores.open())
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(try stores.open().value() == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program's newer item never replaces an item with more protection requirements.
    @Test(arguments: [true, false]) func aProtectedItemSurvivesAnotherProgramsNewerOne(isLocked: Bool) throws {
        let password = try SecretBytes("horse")
        try stores.open().put("old")
        _ = try stores.open().passwords.set(password)
        world.become(.down)
        let request = try SaveRequest(
            name: name(), secret: SecretBytes("protected"), accessLevel: .afterFirstUnlock, flags: .requireEnforced)
        #expect(try stores.open().save(request).module == "vault")
        if isLocked { try stores.open().lock() }
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        _ = try? stores.open().value()
        try stores.open().unlock(password)
        let vaultAlone = try stores.open(stack: "any required vault")
        #expect(try vaultAlone.value() == "protected")
        try stores.open().lock()
    }

    // MARK: Conditional calls

    @Test(arguments: [true, false]) func aConditionalCallSparesAnotherProgramsNewerItem(isClear: Bool) throws {
        try stores.open().put("old")
        world.become(.down)
        let version = try stores.open().put("ours").version
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        let store = try stores.open()
        #expect(throws: TokenKeepError(.conflict, "")) {
            if isClear {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            } else {
                try store.put("new", if: .version(version))
            }
        }
        #expect(stored == "theirs")
        #expect(try store.value() == "theirs")
    }

    @Test func aSaveIfAbsentSparesAnItemThatCameBehindARemoval() throws {
        try stores.open().put("old")
        world.become(.down)
        try clear(stores.open())
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(throws: TokenKeepError(.duplicate, "")) { try stores.open().put("new", if: .absent) }
        #expect(stored == "theirs")
    }

    @Test(arguments: [true, false]) func aConditionalCallOnAPendingItemFailsDuringTheOutage(isClear: Bool) throws {
        try stores.open().put("old")
        world.become(.down)
        let store = try stores.open()
        let version = try store.put("ours").version
        #expect(throws: TokenKeepError(.unavailable, "")) {
            if isClear {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            } else {
                try store.put("new", if: .version(version))
            }
        }
        #expect(try store.value() == "ours")
        world.become(.up)
        try store.put("new", if: .version(version))
        #expect(stored == "new")
    }

    // MARK: A machine that has only loaded

    @Test func aModuleThatOnlyAnsweredLoadsIsNoEmptyOneWhenItIsAway() throws {
        try otherProgramSaves("theirs")
        #expect(try stores.open().value() == "theirs")
        world.become(.down)
        #expect(throws: TokenKeepError(.unavailable, "")) { try stores.open().value() }
    }

    @Test func aTokenThatWasOnlyLoadedStaysCleared() throws {
        try otherProgramSaves("theirs")
        #expect(try stores.open().value() == "theirs")
        world.become(.down)
        try clear(stores.open())
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    // MARK: A machine without a service

    @Test func nothingIsPendingForAServiceThatWasNeverUsed() throws {
        world.become(.down)
        let outcome = try stores.open().put("first")
        #expect(outcome.pendingModules.isEmpty && outcome.module == "vault")
        #expect(try stores.open().pendingChanges.report().entries.isEmpty)
        #expect(try stores.open().value() == "first")
        try clear(stores.open())
        #expect(try stores.open().pendingChanges.report().entries.isEmpty)
        try stores.open().put("second")
        world.become(.up)
        #expect(try stores.open().value() == "second")
        #expect(try stores.open().put("third").module == "secret-service")
        #expect(stored == "third")
    }

    @Test func aForgottenServiceCollectsNothing() throws {
        try stores.open().put("old")
        world.become(.down)
        #expect(try stores.open().put("new").pendingModules == ["secret-service"])
        _ = try stores.open().pendingChanges.forget(module: "secret-service")
        #expect(try stores.open().put("newer").pendingModules.isEmpty)
        #expect(try stores.open().pendingChanges.report().entries.isEmpty)
        #expect(try stores.open().value() == "newer")
    }

    // MARK: Watches

    @Test func aWatchSeesAnotherProgramsChangeOfAPendingItem() throws {
        try stores.open().put("old")
        world.become(.down)
        try stores.open().put("ours")
        world.become(.up)
        let watch = try StoreWatch(stores.open())
        secondsPass()
        try otherProgramSaves("theirs")
        Records(at: directory.path + "/vault").announceChange()  // the scripted service sends no signal
        #expect(try watch.all() == [.saved(try name())])
        #expect(try stores.open().value() == "theirs")
    }

    // MARK: Clocks

    /// Each call opens a store of its own, like another process.
    @Test(arguments: [-3600, -315_360_000, 3600, 315_360_000] as [Int64])
    func aSaveSurvivesAClockThatWasSet(by seconds: Int64) throws {
        try stores.open().put("old")
        world.setClock(by: seconds)
        world.become(.down)
        try stores.open().put("new")
        world.become(.up)
        #expect(try stores.open().value() == "new")
        #expect(stored == "new")
    }

    @Test(arguments: [-3600, 3600] as [Int64]) func aClearSurvivesAClockThatWasSet(by seconds: Int64) throws {
        try stores.open().put("old")
        world.setClock(by: seconds)
        world.become(.down)
        try clear(stores.open())
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    @Test func aTokenThatWasOnlyLoadedStaysClearedWhenTheClockWasSetBack() throws {
        try otherProgramSaves("theirs")
        #expect(try stores.open().value() == "theirs")
        world.setClock(by: -3600)
        world.become(.down)
        try clear(stores.open())
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    /// A conditional save looks at the item while it holds the item's lock. The look alone does not note the value.
    @Test func aValueThatAConditionalSaveMetIsKnown() throws {
        try otherProgramSaves("theirs")
        let store = try stores.open()
        #expect(throws: TokenKeepError(.duplicate, "")) { try store.put("x", if: .absent) }
        #expect(try store.value() == "theirs")
        world.setClock(by: -3600)
        world.become(.hung)
        try stores.open().put("ours")
        world.become(.up)
        #expect(try stores.open().value() == "ours")
        #expect(stored == "ours")
    }

    /// The clock is set back while our write is pending, so another program's later value has an earlier time.
    @Test func aNewerValueStandsAlthoughTheClockWasSetBack() throws {
        try stores.open().put("old")
        world.become(.down)
        try stores.open().put("ours")
        world.setClock(by: -3600)
        try otherProgramSavesDuringOutage("theirs")
        #expect(try stores.open().value() == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program replaced a value that we knew. Within the same second, the other program's change counts as
    /// later.
    @Test func anotherProgramsWriteInTheSecondOfOursStands() throws {
        try stores.open().put("old")
        world.become(.down)
        try stores.open().put("ours")
        try otherProgramSavesDuringOutage("theirs")
        #expect(try stores.open().value() == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program's change came after our last look, but certainly before our save.
    @Test func anEarlierWriteOfAnotherProgramLosesAgainstOurSave() throws {
        try stores.open().put("old")
        try otherProgramSaves("theirs")
        secondsPass()
        world.become(.down)
        try stores.open().put("ours")
        world.become(.up)
        #expect(try stores.open().value() == "ours")
        #expect(stored == "ours")
    }
}
