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

    private func open(isConnected: Bool = true) throws -> Store {
        try world.store(vaultPath: directory.path + "/vault", isConnected: isConnected)
    }

    @discardableResult
    private func save(
        _ store: Store, _ secret: String, if precondition: SaveRequest.Precondition = .none
    ) throws -> SaveOutcome {
        try store.save(SaveRequest(name: name(), secret: SecretBytes(secret), precondition: precondition))
    }

    private func load(_ store: Store) throws -> String? {
        do {
            return try store.load(service: "example.com", account: "ann").secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func clear(_ store: Store) throws { try store.clear(service: "example.com", account: "ann") }

    private func name() throws -> ItemName { try ItemName(service: "example.com", account: "ann") }

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
        try save(open(), "old")
        world.become(.down)
        try save(open(), "ours")
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(try load(open()) == "theirs")
        #expect(stored == "theirs")
    }

    @Test func theLoadThatDrainsARemovalAnswersTheNewerValue() throws {
        try save(open(), "old")
        world.become(.down)
        try clear(open())
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(try load(open()) == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program's newer item never replaces an item with more protection requirements.
    @Test(arguments: [true, false]) func aProtectedItemSurvivesAnotherProgramsNewerOne(isLocked: Bool) throws {
        let password = try SecretBytes("horse")
        try save(open(), "old")
        _ = try open().passwords.set(password)
        world.become(.down)
        let request = try SaveRequest(
            name: name(), secret: SecretBytes("protected"), accessLevel: .afterFirstUnlock, flags: .requireEnforced)
        #expect(try open().save(request).module == "vault")
        if isLocked { try open().lock() }
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        _ = try? load(open())
        try open().unlock(password)
        let vaultAlone = try world.store(
            vaultPath: directory.path + "/vault", isConnected: true, stack: "any required vault")
        #expect(try load(vaultAlone) == "protected")
        try open().lock()
    }

    // MARK: Conditional calls

    @Test(arguments: [true, false]) func aConditionalCallSparesAnotherProgramsNewerItem(isClear: Bool) throws {
        try save(open(), "old")
        world.become(.down)
        let version = try save(open(), "ours").version
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        let store = try open()
        #expect(throws: TokenKeepError(.conflict, "")) {
            if isClear {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            } else {
                try save(store, "new", if: .version(version))
            }
        }
        #expect(stored == "theirs")
        #expect(try load(store) == "theirs")
    }

    @Test func aSaveIfAbsentSparesAnItemThatCameBehindARemoval() throws {
        try save(open(), "old")
        world.become(.down)
        try clear(open())
        secondsPass()
        try otherProgramSavesDuringOutage("theirs")
        #expect(throws: TokenKeepError(.duplicate, "")) { try save(open(), "new", if: .absent) }
        #expect(stored == "theirs")
    }

    @Test(arguments: [true, false]) func aConditionalCallOnAPendingItemFailsDuringTheOutage(isClear: Bool) throws {
        try save(open(), "old")
        world.become(.down)
        let store = try open()
        let version = try save(store, "ours").version
        #expect(throws: TokenKeepError(.unavailable, "")) {
            if isClear {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            } else {
                try save(store, "new", if: .version(version))
            }
        }
        #expect(try load(store) == "ours")
        world.become(.up)
        try save(store, "new", if: .version(version))
        #expect(stored == "new")
    }

    // MARK: A machine that has only loaded

    @Test func aModuleThatOnlyAnsweredLoadsIsNoEmptyOneWhenItIsAway() throws {
        try otherProgramSaves("theirs")
        #expect(try load(open()) == "theirs")
        world.become(.down)
        #expect(throws: TokenKeepError(.unavailable, "")) { try load(open()) }
    }

    @Test func aTokenThatWasOnlyLoadedStaysCleared() throws {
        try otherProgramSaves("theirs")
        #expect(try load(open()) == "theirs")
        world.become(.down)
        try clear(open())
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    // MARK: A machine without a service

    @Test func nothingIsPendingForAServiceThatWasNeverUsed() throws {
        world.become(.down)
        let outcome = try save(open(), "first")
        #expect(outcome.pendingModules.isEmpty && outcome.module == "vault")
        #expect(try open().pendingChanges.report().entries.isEmpty)
        #expect(try load(open()) == "first")
        try clear(open())
        #expect(try open().pendingChanges.report().entries.isEmpty)
        try save(open(), "second")
        world.become(.up)
        #expect(try load(open()) == "second")
        #expect(try save(open(), "third").module == "secret-service")
        #expect(stored == "third")
    }

    @Test func aForgottenServiceCollectsNothing() throws {
        try save(open(), "old")
        world.become(.down)
        #expect(try save(open(), "new").pendingModules == ["secret-service"])
        _ = try open().pendingChanges.forget(module: "secret-service")
        #expect(try save(open(), "newer").pendingModules.isEmpty)
        #expect(try open().pendingChanges.report().entries.isEmpty)
        #expect(try load(open()) == "newer")
    }

    // MARK: Watches

    @Test func aWatchSeesAnotherProgramsChangeOfAPendingItem() throws {
        try save(open(), "old")
        world.become(.down)
        try save(open(), "ours")
        world.become(.up)
        let watch = try StoreWatch(open())
        secondsPass()
        try otherProgramSaves("theirs")
        Records(at: directory.path + "/vault").announceChange()  // the scripted service sends no signal
        #expect(try watch.all() == [.saved(try name())])
        #expect(try load(open()) == "theirs")
    }

    // MARK: Clocks

    /// Each call opens a store of its own, like another process.
    @Test(arguments: [-3600, -315_360_000, 3600, 315_360_000] as [Int64])
    func aSaveSurvivesAClockThatWasSet(by seconds: Int64) throws {
        try save(open(), "old")
        world.setClock(by: seconds)
        world.become(.down)
        try save(open(), "new")
        world.become(.up)
        #expect(try load(open()) == "new")
        #expect(stored == "new")
    }

    @Test(arguments: [-3600, 3600] as [Int64]) func aClearSurvivesAClockThatWasSet(by seconds: Int64) throws {
        try save(open(), "old")
        world.setClock(by: seconds)
        world.become(.down)
        try clear(open())
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    @Test func aTokenThatWasOnlyLoadedStaysClearedWhenTheClockWasSetBack() throws {
        try otherProgramSaves("theirs")
        #expect(try load(open()) == "theirs")
        world.setClock(by: -3600)
        world.become(.down)
        try clear(open())
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    /// A conditional save looks at the item while it holds the item's lock. The look alone does not note the value.
    @Test func aValueThatAConditionalSaveMetIsKnown() throws {
        try otherProgramSaves("theirs")
        let store = try open()
        #expect(throws: TokenKeepError(.duplicate, "")) { try save(store, "x", if: .absent) }
        #expect(try load(store) == "theirs")
        world.setClock(by: -3600)
        world.become(.hung)
        try save(open(), "ours")
        world.become(.up)
        #expect(try load(open()) == "ours")
        #expect(stored == "ours")
    }

    /// The clock is set back while our write is pending, so another program's later value has an earlier time.
    @Test func aNewerValueStandsAlthoughTheClockWasSetBack() throws {
        try save(open(), "old")
        world.become(.down)
        try save(open(), "ours")
        world.setClock(by: -3600)
        try otherProgramSavesDuringOutage("theirs")
        #expect(try load(open()) == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program replaced a value that we knew. Within the same second, the other program's change counts as
    /// later.
    @Test func anotherProgramsWriteInTheSecondOfOursStands() throws {
        try save(open(), "old")
        world.become(.down)
        try save(open(), "ours")
        try otherProgramSavesDuringOutage("theirs")
        #expect(try load(open()) == "theirs")
        #expect(stored == "theirs")
    }

    /// Another program's change came after our last look, but certainly before our save.
    @Test func anEarlierWriteOfAnotherProgramLosesAgainstOurSave() throws {
        try save(open(), "old")
        try otherProgramSaves("theirs")
        secondsPass()
        world.become(.down)
        try save(open(), "ours")
        world.become(.up)
        #expect(try load(open()) == "ours")
        #expect(stored == "ours")
    }
}
