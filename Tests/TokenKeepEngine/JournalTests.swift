import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Single histories that once failed, played with a scripted service.
@Suite struct JournalTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    private func otherProgramSaves(_ secret: String) throws {
        let name = try name()
        world.put(ItemDetails(name: name, label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    /// The save failed, and yet the service had its value in the end (seed 172 of the model).
    @Test(arguments: ScriptedService.Fault.losses)
    func aConditionalSaveThatIsLostOnItsWayIsSaved(fault: ScriptedService.Fault) throws {
        let store = try stores.open()
        let old = try store.put("old").version
        world.fault = (fault, 2)  // after the check of the precondition and the search for the item
        let outcome = try store.put("new", if: .version(old))
        #expect(outcome.pendingModules == ["secret-service"])
        world.become(.up)
        #expect(throws: TokenKeepError(.conflict, "")) { try store.put("x", if: .version(old)) }
        #expect(try store.value() == "new")
        #expect(stored == "new")
    }

    @Test(arguments: ScriptedService.Fault.losses)
    func aConditionalClearThatIsLostOnItsWayIsPending(fault: ScriptedService.Fault) throws {
        let store = try stores.open()
        let version = try store.put("old").version
        world.fault = (fault, 2)
        try store.clear(service: "example.com", account: "ann", ifVersion: version)
        world.become(.up)
        #expect(try store.value() == nil)
        #expect(stored == nil)
    }

    /// A process may have sent the value of a replaced record, and have ended before it could note this.
    @Test(arguments: [false, true])
    func whatARecordHeldBeforeDoesNotComeBackLate(isCleared: Bool) throws {
        let cron = try stores.open(isConnected: false)
        try stores.open().put("old")
        try cron.put("first")
        try forgetWhatIsInFlight()
        if isCleared { try cron.clear(service: "example.com", account: "ann") } else { try cron.put("second") }
        world.now = UnixTime(world.now.rawValue + 5)
        try otherProgramSaves("first")
        let store = try stores.open()
        #expect(try store.value() == (isCleared ? nil : "second"))
        #expect(try store.value() == (isCleared ? nil : "second"))
        #expect(stored == (isCleared ? nil : "second"))
    }

    private func forgetWhatIsInFlight() throws {
        var transaction = try stores.records.begin(name(), .patient)
        guard let record = transaction.entry.record, let item = try record.item() else { return }
        let pending = record.pending.map { part in
            var part = part
            part.inFlight = []
            return part
        }
        try transaction.apply(.parts(value: item, pending: pending))
    }

    /// The item moves to the service after the service was listed, and out of the vault before the vault is listed.
    @Test func aListSeesAnItemThatMovesMeanwhile() throws {
        let (lister, other) = (try stores.open(), try stores.open())
        try stores.open().put("old")
        try stores.open(isConnected: false).put("new")
        #expect(world.remove(try name()))
        try otherProgramSavesAnother()
        world.afterward = { _ = try? other.load(service: "example.com", account: "ann") }
        #expect(try lister.list(service: "example.com").items.map(\.name.account) == ["ann"])
        #expect(stored == "new")
    }

    private func otherProgramSavesAnother() throws {
        let name = try ItemName(service: "example.org", account: "x")
        world.put(ItemDetails(name: name, label: "x", module: "secret-service"), try SecretBytes("x"))
    }

    @Test func aMemoryOnlyItemIsListedOverAPendingOne() throws {
        try stores.open().put("old")
        let store = try stores.open(isConnected: false)
        try store.put("pending")
        try store.put("code", level: .memoryOnly)
        #expect(try store.value() == "code")
        #expect(
            try store.list().items.map(\.module) == [store.load(service: "example.com", account: "ann").details.module])
    }

    /// If the stack lets a save pass a locked module, the module's older value must not reappear.
    @Test func aSavePastALockedModuleIsPending() throws {
        let stack = "any optional secret-service\nany required vault"
        let store = try stores.open(stack: stack)
        try store.put("old")
        world.become(.locked)
        #expect(try store.put("new").pendingModules == ["secret-service"])
        world.become(.up)
        #expect(try store.value() == "new")
        #expect(try stores.open(stack: stack).value() == "new")
        #expect(stored == "new")
    }

    /// A save on a machine without a service does not mark the service as used.
    @Test func anAbsentServiceIsNotUsedBySaving() throws {
        let store = try stores.open(isConnected: false)
        try store.put("new")
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "bob") }
        #expect(try store.list().problem == nil)
    }

    /// A program without a bus must not take the absence of the service for an answer (seed 107765 of the model).
    @Test(arguments: [ScriptedService.Condition.locked, .hung])
    func theAbsenceOfAServiceThatIsThereDrainsNothing(condition: ScriptedService.Condition) throws {
        try otherProgramSaves("old")
        let cron = try stores.open(isConnected: false)
        try cron.put("new")
        world.become(condition)
        try stores.open().clear(service: "example.com", account: "ann")
        #expect(try cron.value() == nil)
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    /// Marks the service as used: its absence is an outage from now on.
    private func useService() throws { _ = try? stores.open().load(service: "example.com", account: "nobody") }

    /// Without a bus, a program cannot know whether the service has another program's item, which must not reappear.
    @Test func aRemovalFromAnAbsentServiceStaysPending() throws {
        try useService()
        try otherProgramSaves("old")
        let cron = try stores.open(isConnected: false)
        try cron.put("new")
        try cron.clear(service: "example.com", account: "ann")
        #expect(try cron.value() == nil)
        #expect(try cron.pendingChanges.sync().left == 1)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    /// Another program's value from between two saves into the vault is older than the second save.
    @Test func aSaveByTheVaultAloneRenewsPendingWrites() throws {
        try useService()
        try stores.open(isConnected: false).put("first")
        world.now = UnixTime(world.now.rawValue + 5)
        try otherProgramSaves("theirs")
        try stores.open(stack: "any required vault").put("second")
        #expect(try stores.open().value() == "second")
        #expect(stored == "second")
    }

    /// Another program saves after a clear checked the version. The clear must not remove the other program's value.
    @Test func aConditionalClearTakesNothingNewer() throws {
        let store = try stores.open()
        let version = try store.put("old").version
        world.interlude = ({ try? otherProgramSaves("theirs") }, 1)  // after the check of the version
        #expect(throws: TokenKeepError(.conflict, "")) {
            try store.clear(service: "example.com", account: "ann", ifVersion: version)
        }
        #expect(try store.value() == "theirs")
    }

    /// A save in several steps writes the record before the first step, so that a crash leaves the whole item.
    @Test func aSaveInSeveralStepsIsWrittenAhead() throws {
        let store = try stores.open()
        try store.put("old")
        world.takesSteps = true
        var recorded: [String?] = []
        world.interlude = (
            {
                let record = (try? stores.record()) ?? nil
                recorded.append(((try? record?.item()) ?? nil)?.secret.utf8String)
            }, 4  // between the look at the present item and the write
        )
        let outcome = try store.put("new")
        #expect(recorded == ["new"])
        #expect(outcome.pendingModules.isEmpty && outcome.module == "secret-service")
        #expect(try store.load(service: "example.com", account: "ann").details.version == outcome.version)
        #expect(stored == "new")
        #expect(try store.pendingChanges.report().entries.isEmpty)
    }

    @Test(arguments: ScriptedService.Fault.allCases)
    func aSaveInSeveralStepsThatIsLostOnItsWayIsPending(fault: ScriptedService.Fault) throws {
        let store = try stores.open()
        let old = try store.put("old").version
        world.takesSteps = true
        world.fault = (fault, 4)
        #expect(try store.put("new", if: .version(old)).pendingModules == ["secret-service"])
        #expect(try stores.open(isConnected: false).value() == "new")
        world.become(.up)
        #expect(try store.value() == "new")
        #expect(stored == "new")
    }

    /// A value that was there before the save counts as older, even if its modification time is in the future.
    @Test func aSaveInSeveralStepsCountsOverALaterDate() throws {
        let store = try stores.open()
        world.now = UnixTime(world.now.rawValue + 1000)
        try otherProgramSaves("from the future")
        world.now = UnixTime(world.now.rawValue - 1000)
        world.takesSteps = true
        #expect(try store.put("new").pendingModules.isEmpty)
        #expect(try store.value() == "new")
        #expect(stored == "new")
    }

    @Test func aConditionOfASaveInSeveralStepsIsJudged() throws {
        let store = try stores.open()
        let old = try store.put("old").version
        world.takesSteps = true
        #expect(throws: TokenKeepError(.duplicate, "")) { try store.put("x", if: .absent) }
        #expect(throws: TokenKeepError(.conflict, "")) { try store.put("x", if: .version(old &+ 1)) }
        #expect(stored == "old")
        try store.put("new", if: .version(old))
        #expect(stored == "new")
    }
}
