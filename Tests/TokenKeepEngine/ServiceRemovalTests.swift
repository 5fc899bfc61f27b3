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

    private func open(isConnected: Bool = true, stack: String = ScriptedService.stack) throws -> Store {
        try world.store(vaultPath: directory.path + "/vault", isConnected: isConnected, stack: stack)
    }

    private func load(_ account: String, _ store: Store? = nil) throws -> String? {
        let store = if let store { store } else { try open() }
        do {
            return try store.load(service: "example.com", account: account).secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func otherProgramSaves(_ secret: String, _ account: String) throws {
        let name = try ItemName(service: "example.com", account: account)
        world.put(ItemDetails(name: name, label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    private func secondsPass() { world.now = UnixTime(world.now.rawValue + 2) }

    private var accounts: [String] { world.items.keys.map(\.account).sorted() }

    private var isNothingPending: Bool { (try? open().pendingChanges.report().entries.isEmpty) == true }

    /// Saves two items in the service, which then becomes unavailable.
    private func serviceGoes(_ condition: ScriptedService.Condition = .down) throws {
        for account in ["ann", "bob"] { try open().put("old", account) }
        world.become(condition)
    }

    @Test(arguments: [ScriptedService.Condition.down, .locked, .hung])
    func itemsThatNobodyListedDoNotComeBack(condition: ScriptedService.Condition) throws {
        try serviceGoes(condition)
        #expect(try open().clear(service: "example.com") == 0)
        #expect(try load("ann") == nil)
        world.become(.up)
        #expect(try load("ann") == nil)
        #expect(try load("bob") == nil)
        #expect(try open().list(service: "example.com").items.isEmpty)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// A list drains nothing, and does not show items that a pending removal covers.
    @Test func aListBeforeTheDrainShowsNone() throws {
        try serviceGoes()
        try open().put("other", "carl", service: "example.org")
        #expect(try open().clear(service: "example.com") == 0)
        world.become(.up)
        let listed = try open().list().items.map(\.name.service)
        #expect(listed == ["example.org"])
        #expect(accounts == ["ann", "bob"])
    }

    @Test func aSyncDrainsIt() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        let entries = try open().pendingChanges.report().entries
        #expect(entries.map { $0.item?.removedService } == ["example.com"])
        #expect(entries.allSatisfy { $0.isRemoval && $0.isOfService })
        world.become(.up)
        let outcome = try open().pendingChanges.sync()
        #expect(outcome.drained == 1 && outcome.left == 0)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// A save after the clear drains the removal first, so that the removal cannot delete the newer value.
    @Test(arguments: [true, false]) func aLaterSaveStands(arrivesAtOnce: Bool) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        if arrivesAtOnce { world.become(.up) }
        try open().put("new", "ann")
        #expect(try load("ann") == "new")
        world.become(.up)
        #expect(try load("ann") == "new")
        #expect(try load("bob") == nil)
        #expect(accounts == ["ann"])
        _ = try open().pendingChanges.sync()
        #expect(isNothingPending)
        #expect(try load("ann") == "new")
    }

    /// The save happens within the second of the clear, also if the clock was set back before the clear.
    @Test(arguments: [0, -3600] as [Int64]) func aSaveIsNotTakenForAnOlderItem(clock: Int64) throws {
        try serviceGoes()
        world.setClock(by: clock)
        _ = try open().clear(service: "example.com")
        world.become(.up)
        try open().put("new", "ann")
        _ = try open().pendingChanges.sync()
        #expect(try load("ann") == "new")
        #expect(accounts == ["ann"])
    }

    @Test func theClockIsSetBackBeforeTheClear() throws {
        try serviceGoes()
        world.setClock(by: -3600)
        _ = try open().clear(service: "example.com")
        world.become(.up)
        _ = try open().pendingChanges.sync()
        #expect(accounts == [])
    }

    @Test func anotherProgramsLaterItemStays() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        try otherProgramSaves("theirs", "carl")
        world.become(.up)
        #expect(try load("carl") == "theirs")
        #expect(try load("ann") == "theirs")
        #expect(accounts == ["ann", "carl"])
        #expect(isNothingPending)
    }

    /// A drain fails after it found another program's later item. The next drain must still judge that item as later.
    @Test(arguments: ScriptedService.Fault.losses, 0..<8)
    func anotherProgramsLaterItemStaysInEveryDrain(fault: ScriptedService.Fault, calls: Int) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        world.become(.up)
        world.fault = (fault, calls)
        _ = try? open().pendingChanges.sync()
        world.fault = nil
        world.become(.up)
        _ = try open().pendingChanges.sync()
        #expect(try load("bob") == nil)
        #expect(try load("ann") == "theirs")
        #expect(accounts == ["ann"])
    }

    @Test(arguments: [true, false]) func aConditionalSaveDrainsItFirst(isAnswered: Bool) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        if isAnswered { world.become(.up) }
        let request = try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes("new"), precondition: .absent)
        if isAnswered {
            #expect(try open().save(request).module == "secret-service")
            #expect(accounts == ["ann"])
        } else {
            #expect(throws: TokenKeepError(.unavailable, "")) { try open().save(request) }
        }
    }

    /// A process that is killed in the middle of a drain leaves the removal pending.
    @Test(arguments: ScriptedService.Fault.losses, 0..<6)
    func aDrainThatIsInterruptedGoesOn(fault: ScriptedService.Fault, calls: Int) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        world.become(.up)
        world.fault = (fault, calls)
        _ = try? open().pendingChanges.sync()
        #expect(try load("ann") == nil)
        #expect(try load("bob") == nil)
        world.fault = nil
        world.become(.up)
        _ = try open().pendingChanges.sync()
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// Another process saves between a drain's list of the items and its removals. The save also drains the removal.
    @Test(arguments: 0..<4) func aDrainThatWasOvertakenTakesNothingNewer(calls: Int) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        world.become(.up)
        let other = try open()
        let request = try SaveRequest(
            name: ItemName(service: "example.com", account: "bob"), secret: SecretBytes("new"))
        // the save is BUSY while the drain holds the same item's lock
        var isSaved = false
        world.interlude = (
            { isSaved = (try? other.save(request, until: Deadline(milliseconds: 1000))) != nil }, calls
        )
        _ = try open().pendingChanges.sync()
        #expect(try load("bob") == (isSaved ? "new" : nil))
        #expect(try load("ann") == nil)
        #expect(accounts == (isSaved ? ["bob"] : []))
        if calls == 0 { #expect(isSaved) }
    }

    /// During the drain of a load, another process clears an item into its own record. The load asks that record again.
    @Test(arguments: 0..<4) func aClearDuringALoadsDrainRevivesNothing(calls: Int) throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        world.become(.up)
        let offline = try open(isConnected: false)
        world.interlude = ({ _ = try? offline.clear(service: "example.com", account: "ann") }, calls)
        #expect(try load("ann") == nil)
        _ = try open().pendingChanges.sync()
        #expect(accounts == [])
    }

    @Test func aVaultsItemIsSeenBesideTheRemoval() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        try open(stack: "any required vault").put("in the vault", "ann")
        world.become(.locked)
        #expect(try load("ann") == "in the vault")
        #expect(try open().list(service: "example.com").items.map(\.module) == ["vault"])
    }

    @Test func forgettingTheModuleGivesItUp() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        #expect(try open().pendingChanges.forget(module: "secret-service").givenUp == 1)
        #expect(isNothingPending)
    }

    /// Another program saves the item whose own removal is pending. A list hides it, and the clear of the service takes it.
    @Test(arguments: [true, false]) func aHiddenItemIsClearedWithTheService(isConnected: Bool) throws {
        try open().put("old", "ann")
        _ = try open(isConnected: false).clear(service: "example.com", account: "ann")
        secondsPass()
        try otherProgramSaves("theirs", "ann")
        secondsPass()
        _ = try open(isConnected: isConnected).clear(service: "example.com")
        #expect(try load("ann") == nil)
        _ = try open().pendingChanges.sync()
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    /// The change of keys drains the removal, and then finds no item to encrypt anew.
    @Test func aRemovedItemThatWasSealedEndsNoChangeOfKeys() throws {
        let keys = ClassKeyStore(simulatingKernelAt: { 0 })
        func open(isConnected: Bool = true) throws -> Store {
            try world.store(
                vaultPath: directory.path + "/vault", isConnected: isConnected, stack: ScriptedService.stack,
                keys: keys,
                seals: true)
        }
        _ = try open().passwords.set(SecretBytes("horse"))
        let request = try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes("sealed"),
            accessLevel: .afterFirstUnlock, flags: .requireEnforced)
        #expect(try open().save(request).module == "secret-service")
        _ = try open(isConnected: false).clear(service: "example.com")
        #expect(accounts == ["ann"])
        _ = try open().passwords.change(from: SecretBytes("horse"), to: SecretBytes("new"), isCompromised: true)
        #expect(accounts == [])
        #expect(isNothingPending)
    }

    @Test func itOutlivesAChangeOfKeys() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        let password = try SecretBytes("horse")
        _ = try open().passwords.set(password)
        world.become(.up)
        #expect(try load("ann") == nil)
        #expect(accounts == [])
        try open().lock()
    }

    @Test func whatIsMovedIsNotRevived() throws {
        try serviceGoes()
        _ = try open().clear(service: "example.com")
        world.become(.up)
        let outcome = try open().transfer.migrate(from: "secret-service", to: "vault")
        #expect(outcome.items.isEmpty)
        #expect(try load("ann", open(stack: "any required vault")) == nil)
        #expect(accounts == [])
    }

    @Test func aServiceThatWasNeverUsedHasNoRemoval() throws {
        world.become(.down)
        #expect(try open().clear(service: "example.com") == 0)
        #expect(isNothingPending)
    }

    /// The journal keeps the removal even if no line of the stack names the vault.
    @Test func aStackWithoutTheVaultHasOne() throws {
        try serviceGoes()
        let stack = "any required secret-service"
        #expect(try open(stack: stack).clear(service: "example.com") == 0)
        world.become(.up)
        #expect(try load("ann", open(stack: stack)) == nil)
    }
}
