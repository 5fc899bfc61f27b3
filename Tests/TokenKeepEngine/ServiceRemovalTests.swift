import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Clears of a whole service, while a module that may have more of its items cannot be asked.
@Suite struct ServiceRemovalTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private func otherProgramSaves(_ secret: String, _ account: String) throws {
        let name = try ItemName(service: "example.com", account: account)
        world.put(ItemDetails(name: name, label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    private func secondsPass() { world.now = UnixTime(world.now.rawValue + 2) }

    private var accounts: [String] { world.items.keys.map(\.account).sorted() }

    private var isNothingPending: Bool { (try? stores.open().pendingChanges.report().entries.isEmpty) == true }

    /// Saves two items in the service, which then becomes unavailable.
    private func serviceGoes(_ condition: ScriptedService.Condition = .down) throws {
        for account in ["ann", "bob"] { try stores.open().put("old", account) }
        world.become(condition)
    }

    @Test(arguments: [ScriptedService.Condition.down, .locked, .hung])
    func itemsThatNobodyListedDoNotComeBack(condition: ScriptedService.Condition) throws {
        try serviceGoes(condition)
        #expect(try stores.open().clear(service: "example.com") == 0)
        #expect(try stores.open().value("ann") == nil)
        world.become(.up)
        #expect(try stores.open().value("ann") == nil)
        #expect(try stores.open().value("bob") == nil)
        #expect(try stores.open().list(service: "example.com").items.isEmpty)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// A list drains nothing, and does not show items that a pending removal covers.
    @Test func aListBeforeTheDrainShowsNone() throws {
        try serviceGoes()
        try stores.open().put("other", "carl", service: "example.org")
        #expect(try stores.open().clear(service: "example.com") == 0)
        world.become(.up)
        let listed = try stores.open().list().items.map(\.name.service)
        #expect(listed == ["example.org"])
        #expect(accounts == ["ann", "bob"])
    }

    @Test func aSyncDrainsIt() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        let entries = try stores.open().pendingChanges.report().entries
        #expect(entries.map { $0.item?.removedService } == ["example.com"])
        #expect(entries.allSatisfy { $0.isRemoval && $0.isOfService })
        world.become(.up)
        let outcome = try stores.open().pendingChanges.sync()
        #expect(outcome.drained == 1 && outcome.left == 0)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// A save after the clear drains the removal first, so that the removal cannot delete the newer value.
    @Test(arguments: [true, false]) func aLaterSaveStands(arrivesAtOnce: Bool) throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        if arrivesAtOnce { world.become(.up) }
        try stores.open().put("new", "ann")
        #expect(try stores.open().value("ann") == "new")
        world.become(.up)
        #expect(try stores.open().value("ann") == "new")
        #expect(try stores.open().value("bob") == nil)
        #expect(accounts == ["ann"])
        _ = try stores.open().pendingChanges.sync()
        #expect(isNothingPending)
        #expect(try stores.open().value("ann") == "new")
    }

    /// The save happens within the second of the clear, also if the clock was set back before the clear.
    @Test(arguments: [0, -3600] as [Int64]) func aSaveIsNotTakenForAnOlderItem(clock: Int64) throws {
        try serviceGoes()
        world.setClock(by: clock)
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        try stores.open().put("new", "ann")
        _ = try stores.open().pendingChanges.sync()
        #expect(try stores.open().value("ann") == "new")
        #expect(accounts == ["ann"])
    }

    @Test func theClockIsSetBackBeforeTheClear() throws {
        try serviceGoes()
        world.setClock(by: -3600)
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        _ = try stores.open().pendingChanges.sync()
        #expect(accounts == [])
    }

    @Test func anotherProgramsLaterItemStays() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        try otherProgramSaves("theirs", "carl")
        world.become(.up)
        #expect(try stores.open().value("carl") == "theirs")
        #expect(try stores.open().value("ann") == "theirs")
        #expect(accounts == ["ann", "carl"])
        #expect(isNothingPending)
    }

    /// A drain fails after it found another program's later item. The next drain must still judge that item as later.
    @Test(arguments: ScriptedService.Fault.losses, 0..<8)
    func anotherProgramsLaterItemStaysInEveryDrain(fault: ScriptedService.Fault, calls: Int) throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        world.become(.up)
        world.fault = (fault, calls)
        _ = try? stores.open().pendingChanges.sync()
        world.fault = nil
        world.become(.up)
        _ = try stores.open().pendingChanges.sync()
        #expect(try stores.open().value("bob") == nil)
        #expect(try stores.open().value("ann") == "theirs")
        #expect(accounts == ["ann"])
    }

    @Test(arguments: [true, false]) func aConditionalSaveDrainsItFirst(isAnswered: Bool) throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        if isAnswered { world.become(.up) }
        let request = try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes("new"), precondition: .absent)
        if isAnswered {
            #expect(try stores.open().save(request).module == "secret-service")
            #expect(accounts == ["ann"])
        } else {
            #expect(throws: TokenKeepError(.unavailable, "")) { try stores.open().save(request) }
        }
    }

    /// A process that is killed in the middle of a drain leaves the removal pending.
    @Test(arguments: ScriptedService.Fault.losses, 0..<6)
    func aDrainThatIsInterruptedGoesOn(fault: ScriptedService.Fault, calls: Int) throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        world.fault = (fault, calls)
        _ = try? stores.open().pendingChanges.sync()
        #expect(try stores.open().value("ann") == nil)
        #expect(try stores.open().value("bob") == nil)
        world.fault = nil
        world.become(.up)
        _ = try stores.open().pendingChanges.sync()
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// During the drain of a load, another process clears an item into its own record. The load asks that record again.
    @Test(arguments: 0..<4) func aClearDuringALoadsDrainRevivesNothing(calls: Int) throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        let offline = try stores.open(isConnected: false)
        world.interlude = ({ _ = try? offline.clear(service: "example.com", account: "ann") }, calls)
        #expect(try stores.open().value("ann") == nil)
        _ = try stores.open().pendingChanges.sync()
        #expect(accounts == [])
    }

    @Test func aVaultsItemIsSeenBesideTheRemoval() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        try stores.open(stack: "any required vault").put("in the vault", "ann")
        world.become(.locked)
        #expect(try stores.open().value("ann") == "in the vault")
        #expect(try stores.open().list(service: "example.com").items.map(\.module) == ["vault"])
    }

    @Test func forgettingTheModuleGivesItUp() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        #expect(try stores.open().pendingChanges.forget(module: "secret-service").givenUp == 1)
        #expect(isNothingPending)
    }

    /// Another program saves the item whose own removal is pending. A list hides it, and the clear of the service takes it.
    @Test(arguments: [true, false]) func aHiddenItemIsClearedWithTheService(isConnected: Bool) throws {
        try stores.open().put("old", "ann")
        _ = try stores.open(isConnected: false).clear(service: "example.com", account: "ann")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        secondsPass()
        _ = try stores.open(isConnected: isConnected).clear(service: "example.com")
        #expect(try stores.open().value("ann") == nil)
        _ = try stores.open().pendingChanges.sync()
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// The change of keys drains the removal, and then finds no item to encrypt anew.
    @Test func aRemovedItemThatWasSealedEndsNoChangeOfKeys() throws {
        let keys = ClassKeyStore(simulatingKernelAt: { 0 })
        let stores = TestStore(world, in: directory, keys: keys, seals: true)
        _ = try stores.open().passwords.set(SecretBytes("horse"))
        let saved = try stores.open().put("sealed", level: .afterFirstUnlock, flags: .requireEnforced)
        #expect(saved.module == "secret-service")
        _ = try stores.open(isConnected: false).clear(service: "example.com")
        #expect(accounts == ["ann"])
        _ = try stores.open().passwords.change(from: SecretBytes("horse"), to: SecretBytes("new"), isCompromised: true)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    @Test func itOutlivesAChangeOfKeys() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        let password = try SecretBytes("horse")
        _ = try stores.open().passwords.set(password)
        world.become(.up)
        #expect(try stores.open().value("ann") == nil)
        #expect(accounts == [])
        try stores.open().lock()
    }

    @Test func whatIsMovedIsNotRevived() throws {
        try serviceGoes()
        _ = try stores.open().clear(service: "example.com")
        world.become(.up)
        let outcome = try stores.open().transfer.migrate(from: "secret-service", to: "vault")
        #expect(outcome.items.isEmpty)
        #expect(try stores.open(stack: "any required vault").value("ann") == nil)
        #expect(accounts == [])
    }

    @Test func aServiceThatWasNeverUsedHasNoRemoval() throws {
        world.become(.down)
        #expect(try stores.open().clear(service: "example.com") == 0)
        #expect(isNothingPending)
    }

    /// The journal keeps the removal even if no line of the stack names the vault.
    @Test func aStackWithoutTheVaultHasOne() throws {
        try serviceGoes()
        let stack = "any required secret-service"
        #expect(try stores.open(stack: stack).clear(service: "example.com") == 0)
        world.become(.up)
        #expect(try stores.open(stack: stack).value("ann") == nil)
    }
}
