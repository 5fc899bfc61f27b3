import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Values in flight to a service whose sender gives up or dies, and clocks that are set back.
@Suite struct InFlightTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)

    private func open(isConnected: Bool = true, stack: String = ScriptedService.stack) throws -> Store {
        try world.store(vaultPath: directory.path + "/vault", isConnected: isConnected, stack: stack)
    }

    /// A store whose calls are cancelled as soon as a call to the service hangs.
    private func openCut(isSent: Bool = true) throws -> Store {
        let held = MutexGuarded(WeakStore())
        var configuration = StoreConfiguration(stackText: ScriptedService.stack)
        configuration.vaultPath = directory.path + "/vault"
        configuration.clock = { world.now }
        configuration.clocks = { world.clocks }
        configuration.standIns["secret-service"] = {
            CutConnection(base: ScriptedConnection(world, isConnected: true, versionKey: $0), isSent: isSent) {
                held.withLock { $0.store }?.cancel()
            }
        }
        let store = try Store(configuration)
        held.withLock { $0.store = store }
        return store
    }

    @discardableResult
    private func save(_ store: Store, _ secret: String, level: AccessLevel? = nil) throws -> SaveOutcome {
        try store.save(SaveRequest(name: name(), secret: SecretBytes(secret), accessLevel: level))
    }

    private func load(_ store: Store) throws -> String? {
        do {
            return try store.load(service: "example.com", account: "ann").secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func name() throws -> ItemName { try ItemName(service: "example.com", account: "ann") }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    private func secondsPass(_ seconds: Int64 = 2) { world.now = UnixTime(world.now.rawValue + seconds) }

    private var record: JournalRecord? {
        get throws {
            try Records(at: directory.path + "/vault").record(
                of: name(), CallContext(deadline: Deadline(milliseconds: 1000)))
        }
    }

    /// The fingerprints of values that were sent to the service and not acknowledged.
    private var sent: [[UInt8]] {
        get throws {
            try Records(at: directory.path + "/vault")
                .begin(name(), CallContext(deadline: Deadline(milliseconds: 1000))).holder("secret-service").sent
        }
    }

    // MARK: Cancelled

    /// A cancelled save's value arrives after another store's later save was acknowledged.
    @Test func whatACancelledSaveSentReplacesNothingNewer() throws {
        try save(open(), "old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try save(openCut(), "cut") }
        secondsPass()
        try save(open(isConnected: false), "acknowledged")
        secondsPass()
        world.become(.up)
        #expect(stored == "cut")  // modified later than the acknowledged value
        #expect(try load(open()) == "acknowledged")
        #expect(try load(open()) == "acknowledged")
        #expect(stored == "acknowledged")
    }

    /// A cancelled save whose value was sent has happened as a whole, if no other change follows.
    @Test func whatACancelledSaveSentStandsWhereNothingFollowed() throws {
        try save(open(), "old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try save(openCut(), "cut") }
        #expect(try load(open()) == "cut")
        world.become(.up)
        #expect(try load(open()) == "cut")
        #expect(stored == "cut")
        #expect(try record == nil)
    }

    @Test func aSaveThatWasCancelledBeforeItSentAnythingHasNotHappened() throws {
        try save(open(), "old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try save(openCut(isSent: false), "cut") }
        #expect(try record == nil)
        #expect(try sent.isEmpty)
    }

    /// A save in several steps looks at the item before it sends anything.
    @Test func aSaveOfSeveralStepsThatWasCancelledWhileItLookedHasNotHappened() throws {
        try save(open(), "old")
        world.takesSteps = true
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try save(openCut(), "cut") }
        #expect(world.fault == nil)
        #expect(try record == nil)
        #expect(try sent.isEmpty)
        world.become(.up)
        #expect(try load(open()) == "old")
        #expect(stored == "old")
    }

    @Test func aCancelledClearThatMayHaveArrivedIsWhole() throws {
        try save(open(), "old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try openCut().clear(service: "example.com", account: "ann")
        }
        #expect(try load(open()) == nil)
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    // MARK: Killed

    /// Leaves the state of a process that was killed after it had sent its value, before it recorded anything.
    private func killedWhileSending(_ secret: String) throws {
        let item = try Records(at: directory.path + "/vault")
            .begin(name(), CallContext(deadline: Deadline(milliseconds: 1000)))
        item.noteSending(item.keys.fingerprint(of: try SecretBytes(secret)), to: "secret-service")
        world.become(.hung)
    }

    private func killedValueArrives(_ secret: String) throws {
        world.become(.up)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    @Test(arguments: [true, false]) func whatAKilledProcessSentReplacesNothingNewer(isConnected: Bool) throws {
        try save(open(), "old")
        try killedWhileSending("late")
        #expect(try sent.count == 1)
        try save(open(isConnected: isConnected), "acknowledged")
        secondsPass()
        try killedValueArrives("late")
        #expect(try load(open()) == "acknowledged")
        #expect(try load(open()) == "acknowledged")
        #expect(stored == "acknowledged")
        #expect(try sent.isEmpty)
    }

    @Test func whatAKilledProcessSentUndoesNoClear() throws {
        try save(open(), "old")
        try killedWhileSending("late")
        #expect(try open(isConnected: false).clear(service: "example.com", account: "ann") == false)
        secondsPass()
        try killedValueArrives("late")
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    /// A value that was sent before the service hung is still known when it arrives after many further saves.
    @Test func aLongOutageForgetsNothingThatIsOnItsWay() throws {
        try save(open(), "old")
        world.takesSteps = true
        world.fault = (.hangsBefore, 4)  // after three looks at the item, and one of the save itself
        try save(open(), "first")
        #expect(world.condition == .hung)
        for number in 2...40 { try save(open(), "value \(number)") }
        secondsPass()
        world.become(.up)
        #expect(stored == "first")
        #expect(try load(open()) == "value 40")
        #expect(try load(open()) == "value 40")
        #expect(stored == "value 40")
    }

    /// Messages keep their order: once a save is acknowledged, all earlier messages have arrived.
    @Test func aSaveThatArrivesForgetsWhatWasSentBefore() throws {
        try save(open(), "old")
        #expect(try sent.isEmpty)
        try killedWhileSending("late")
        try killedValueArrives("late")
        _ = try open().pendingChanges.sync()
        #expect(try sent.count == 1)  // no process knows yet that the value has arrived
        try save(open(), "new")
        #expect(try sent.isEmpty)
        #expect(try record == nil)
    }

    @Test func aHintThatACrashMadeRubbishIsNone() throws {
        try save(open(), "old")
        try killedWhileSending("late")
        world.become(.up)
        let name = "vault/current/holders/" + (try #require(directory.names(in: "vault/current/holders").first))
        let file = directory.path + "/" + name
        for rubbish in [[], [1], Array(repeating: 0, count: 15), Array(repeating: 7, count: 10_000)] as [[UInt8]] {
            directory.write(rubbish, to: name)
            chmod(file, 0o600)
            #expect(try load(open()) == "old")
            try save(open(isConnected: false), "new")
            #expect(try load(open()) == "new")
            #expect(stored == "new")
            try save(open(), "old")
            try killedWhileSending("late")
            world.become(.up)
        }
    }

    // MARK: Clocks

    /// A value that was seen in the service is older than the present save, whatever its modification time.
    @Test(arguments: ["saved", "loaded", "judged"]) func aClockSetBackLetsNoOlderValueWin(how: String) throws {
        let store = try open()
        let version = try save(open(), "old").version
        switch how {
        case "saved": try save(store, "old")
        case "loaded": #expect(try load(store) == "old")
        default:
            #expect(throws: TokenKeepError(.conflict, "")) {
                try store.clear(service: "example.com", account: "ann", ifVersion: version &+ 1)
            }
        }
        world.setClock(by: -1000)
        world.become(.down)
        try save(store, "new")
        world.become(.up)
        #expect(try load(open()) == "new")
        #expect(try load(open()) == "new")
        #expect(stored == "new")
    }

    @Test func aClockSetBackUndoesNoClear() throws {
        let store = try open()
        try save(store, "old")
        world.setClock(by: -1000)
        world.become(.down)
        try store.clear(service: "example.com", account: "ann")
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }

    /// The record keeps the value that a drain saw in the service, so that another process knows it.
    @Test func whatADrainSawStandsInTheRecord() throws {
        try save(open(), "old")
        try save(open(isConnected: false), "new")
        world.fault = (.hangsBefore, 1)  // the drain looks at the item, and writes nothing
        #expect(try load(open()) == "new")
        #expect(try record?.pending.first?.base != nil)
        world.become(.down)  // the hung service's queue is lost
        world.setClock(by: -1000)
        try save(open(isConnected: false), "newer")
        world.become(.up)
        #expect(try load(open()) == "newer")
        #expect(stored == "newer")
    }

    /// Another program's later value stays, even if an earlier value of the module was seen.
    @Test func anotherProgramsLaterValueStays() throws {
        let store = try open()
        try save(store, "old")
        world.become(.down)
        try save(store, "ours")
        secondsPass()
        world.become(.up)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
        #expect(try load(open()) == "theirs")
    }

    // MARK: Levels

    /// A save without a level keeps the level that this process saw, and cannot keep a level that it never saw.
    @Test func aFallbackKeepsTheLevelThatWasSeen() throws {
        let store = try open()
        try save(store, "old", level: .whenUnlocked)
        world.become(.down)
        try save(store, "new")
        #expect(try store.load(service: "example.com", account: "ann").details.accessLevel == .whenUnlocked)
        world.become(.up)
        #expect(try load(open()) == "new")
        #expect(try open().load(service: "example.com", account: "ann").details.accessLevel == .whenUnlocked)
        let other = try open()
        world.become(.down)
        try save(other, "unseen")
        #expect(try other.load(service: "example.com", account: "ann").details.accessLevel == .afterFirstUnlock)
    }

    /// A value saved in one step is known: it becomes the base of a later pending write, and its level is kept.
    @Test func whatWasSavedAtOnceIsKnown() throws {
        let store = try open()
        try save(store, "v1", level: .whenUnlocked)
        try save(store, "v2")
        world.setClock(by: -1000)
        world.become(.down)
        try save(store, "v3")
        let fingerprint = try Records(at: directory.path + "/vault").fingerprint(of: SecretBytes("v2"))
        let record = try #require(try record)
        #expect(record.pending.map(\.base) == [fingerprint])
        #expect(record.details?.accessLevel == .whenUnlocked)
        world.become(.up)
        #expect(try load(open()) == "v3")
        #expect(stored == "v3")
        #expect(world.items[try name()]?.details.accessLevel == .whenUnlocked)
    }

    // MARK: Lines for clear

    @Test func aClearObeysItsLines() throws {
        try save(open(stack: "any required vault"), "kept")
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
        // The service has no `clear` line, so its item stays.
        let half = "load required secret-service\nlist required secret-service\nany required vault"
        #expect(try open(stack: half).clear(service: "example.com", account: "ann"))
        #expect(stored == "theirs")
        #expect(try record == nil)
        try save(open(stack: "any required vault"), "kept")
        // The vault has no `clear` line, so its item stays.
        let other = "clear required secret-service\nload required vault\nlist required vault"
        #expect(try open(stack: other).clear(service: "example.com", account: "ann"))
        #expect(stored == nil)
        #expect(try load(open(stack: other)) == "kept")
    }

    @Test func aFailureThatDoesNotCountKeepsNoClear() throws {
        try save(open(), "token")
        for (line, status) in [("required", Status.denied), ("optional", .ok), ("[denied=ignore default=bad]", .ok)] {
            var configuration = StoreConfiguration(stackText: "clear \(line) secret-service\nany required vault")
            configuration.vaultPath = directory.path + "/vault"
            configuration.standIns["secret-service"] = {
                RefusingConnection(base: ScriptedConnection(world, isConnected: true, versionKey: $0))
            }
            let store = try Store(configuration)
            var outcome = Status.ok
            do {
                try store.clear(service: "example.com", account: "ann")
            } catch { outcome = error.status }
            #expect(outcome == status, "\(line)")
        }
    }

    /// The second module cannot have a pending removal, so it is cleared although the call was cancelled.
    @Test(arguments: [true, false]) func aClearThatWasCancelledHalfwayIsDoneWhole(hasVault: Bool) throws {
        let records = Records(at: directory.path + "/vault")
        if hasVault { try save(open(stack: "any required vault"), "other") }
        let name = try ItemName(service: "example.com", account: "two")
        let cancellation = Cancellation()
        let call = CallContext(deadline: Deadline(milliseconds: 10_000, cancellation: cancellation))
        let modules = [ClearedPlace("one", supportsPendingWrites: true) { cancellation.cancel() }, ClearedPlace("two")]
        let stack = try Stack(text: "any required one\nany required two", source: "test", directories: .none)
        let programs = try StackOperations(stack.entries) { line throws(TokenKeepError) in
            guard let module = modules.first(where: { $0.name == line.module }) else {
                throw TokenKeepError(.invalid, "no module", isAbsence: true)
            }
            return module
        }
        let dispatcher = Dispatcher(programs: programs, memory: MemoryModule())
        let reconciler = Reconciler(dispatcher, records: records)
        #expect(try reconciler.clear(name, ifVersion: nil, call))
        #expect(modules.map { $0.isCleared.withLock { $0 } } == [true, true])
    }

    /// An unavailable module gets a pending removal whatever its line says, so that a cleared item does not reappear.
    @Test(arguments: ["required", "optional", "[default=ignore]", "[default=die]"])
    func anUnreachableModuleHasAPendingRemoval(control: String) throws {
        try save(open(), "token")
        world.become(.down)
        let store = try open(stack: "any \(control) secret-service\nany required vault")
        _ = try store.clear(service: "example.com", account: "ann")
        world.become(.up)
        #expect(try load(open()) == nil)
        #expect(stored == nil)
    }
}

/// A connection that cancels its store's call when the service does not answer.
private struct CutConnection: Module {
    let base: ScriptedConnection
    let isSent: Bool
    let cancel: @Sendable () -> Void

    var name: String { base.name }
    var supportsPendingWrites: Bool { true }
    var mayAnswer: Bool { base.mayAnswer }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try cutting { () throws(TokenKeepError) in try base.load(name, call) }
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try cutting { () throws(TokenKeepError) in try base.save(request, call) }
    }

    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try cutting { () throws(TokenKeepError) in try base.saveAtOnce(request, call) }
    }

    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        try cutting { () throws(TokenKeepError) in try base.clear(name, ifVersion: version, call) }
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }

    func report(_ call: CallContext) -> ModuleReport { base.report(call) }

    private func cutting<Answer>(_ body: () throws(TokenKeepError) -> Answer) throws(TokenKeepError) -> Answer {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            guard error.status == .timedOut else { throw error }
            cancel()
            var cut = TokenKeepError(.cancelled, "the call was cancelled")
            cut.changedNothing = !isSent
            throw cut
        }
    }
}

/// A module that can only clear its item. A cancelled call changes nothing.
private final class ClearedPlace: Module {
    let name: String
    let supportsPendingWrites: Bool
    let isCleared = MutexGuarded(false)
    private let afterward: @Sendable () -> Void

    init(_ name: String, supportsPendingWrites: Bool = false, afterward: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.supportsPendingWrites = supportsPendingWrites
        self.afterward = afterward
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        throw TokenKeepError(.notFound, "nothing is loaded")
    }
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        throw TokenKeepError(.unsupported, "nothing is saved")
    }
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        guard !call.deadline.hasPassed else { throw call.deadline.failure("too late") }
        isCleared.withLock { $0 = true }
        afterward()
        return true
    }
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        ItemListing()
    }
    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "a test") }
}

/// A connection to a service that refuses every removal.
private struct RefusingConnection: Module {
    let base: ScriptedConnection
    var name: String { base.name }
    var supportsPendingWrites: Bool { true }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem { try base.load(name, call) }
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try base.save(request, call)
    }
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        throw TokenKeepError(.denied, "not by you")
    }
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }
    func report(_ call: CallContext) -> ModuleReport { base.report(call) }
}

/// A weak reference to a store, for the store's own module: a strong one would keep the store alive.
private struct WeakStore {
    weak var store: Store?
}
