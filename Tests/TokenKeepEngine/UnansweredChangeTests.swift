import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Changes that were sent to a service whose sender gave up or died: the service may receive them late.
@Suite struct UnansweredChangeTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    /// A store whose calls are cancelled as soon as a call to the service hangs.
    private func openCut(isSent: Bool = true) throws -> Store {
        let held = MutexGuarded(WeakStore())
        let store = try stores.open {
            $0.standIns["secret-service"] = { [world] in
                CutConnection(base: ScriptedConnection(world, isConnected: true, versionKey: $0), isSent: isSent) {
                    held.withLock { $0.store }?.cancel()
                }
            }
        }
        held.withLock { $0.store = store }
        return store
    }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    private func secondsPass(_ seconds: Int64 = 2) { world.now = UnixTime(world.now.rawValue + seconds) }

    /// The fingerprints of values that were sent to the service and not acknowledged.
    private var sent: [[UInt8]] {
        get throws {
            try stores.records.begin(name(), .patient).holder("secret-service").sent
        }
    }

    // MARK: Cancelled

    /// A cancelled save's value arrives after another store's later save was acknowledged.
    @Test func whatACancelledSaveSentReplacesNothingNewer() throws {
        try stores.open().put("old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try openCut().put("cut") }
        secondsPass()
        try stores.open(isConnected: false).put("acknowledged")
        secondsPass()
        world.become(.up)
        #expect(stored == "cut")  // modified later than the acknowledged value
        #expect(try stores.open().value() == "acknowledged")
        #expect(try stores.open().value() == "acknowledged")
        #expect(stored == "acknowledged")
    }

    /// A cancelled save whose value was sent has happened as a whole, if no other change follows.
    @Test func whatACancelledSaveSentStandsWhereNothingFollowed() throws {
        try stores.open().put("old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try openCut().put("cut") }
        #expect(try stores.open().value() == "cut")
        world.become(.up)
        #expect(try stores.open().value() == "cut")
        #expect(stored == "cut")
        #expect(try stores.record() == nil)
    }

    @Test func aSaveThatWasCancelledBeforeItSentAnythingHasNotHappened() throws {
        try stores.open().put("old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try openCut(isSent: false).put("cut") }
        #expect(try stores.record() == nil)
        #expect(try sent.isEmpty)
    }

    /// A save in several steps looks at the item before it sends anything.
    @Test func aSaveOfSeveralStepsThatWasCancelledWhileItLookedHasNotHappened() throws {
        try stores.open().put("old")
        world.takesSteps = true
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try openCut().put("cut") }
        #expect(world.fault == nil)
        #expect(try stores.record() == nil)
        #expect(try sent.isEmpty)
        world.become(.up)
        #expect(try stores.open().value() == "old")
        #expect(stored == "old")
    }

    @Test func aCancelledClearThatMayHaveArrivedIsWhole() throws {
        try stores.open().put("old")
        world.fault = (.hangsBefore, 1)
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try openCut().clear(service: "example.com", account: "ann")
        }
        #expect(try stores.open().value() == nil)
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    // MARK: Killed

    /// Leaves the state of a process that was killed after it had sent its value, before it recorded anything.
    private func killedWhileSending(_ secret: String) throws {
        let item = try stores.records.begin(name(), .patient)
        item.noteSending(item.keys.fingerprint(of: try SecretBytes(secret)), to: "secret-service")
        world.become(.hung)
    }

    private func killedValueArrives(_ secret: String) throws {
        world.become(.up)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes(secret))
    }

    @Test(arguments: [true, false]) func whatAKilledProcessSentReplacesNothingNewer(isConnected: Bool) throws {
        try stores.open().put("old")
        try killedWhileSending("late")
        #expect(try sent.count == 1)
        try stores.open(isConnected: isConnected).put("acknowledged")
        secondsPass()
        try killedValueArrives("late")
        #expect(try stores.open().value() == "acknowledged")
        #expect(try stores.open().value() == "acknowledged")
        #expect(stored == "acknowledged")
        #expect(try sent.isEmpty)
    }

    @Test func whatAKilledProcessSentUndoesNoClear() throws {
        try stores.open().put("old")
        try killedWhileSending("late")
        #expect(try stores.open(isConnected: false).clear(service: "example.com", account: "ann") == false)
        secondsPass()
        try killedValueArrives("late")
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    /// A value that was sent before the service hung is still known when it arrives after many further saves.
    @Test func aLongOutageForgetsNothingThatIsOnItsWay() throws {
        try stores.open().put("old")
        world.takesSteps = true
        world.fault = (.hangsBefore, 4)  // after three looks at the item, and one of the save itself
        try stores.open().put("first")
        #expect(world.condition == .hung)
        for number in 2...40 { try stores.open().put("value \(number)") }
        secondsPass()
        world.become(.up)
        #expect(stored == "first")
        #expect(try stores.open().value() == "value 40")
        #expect(try stores.open().value() == "value 40")
        #expect(stored == "value 40")
    }

    /// Messages keep their order: once a save is acknowledged, all earlier messages have arrived.
    @Test func aSaveThatArrivesForgetsWhatWasSentBefore() throws {
        try stores.open().put("old")
        #expect(try sent.isEmpty)
        try killedWhileSending("late")
        try killedValueArrives("late")
        _ = try stores.open().pendingChanges.sync()
        #expect(try sent.count == 1)  // no process knows yet that the value has arrived
        try stores.open().put("new")
        #expect(try sent.isEmpty)
        #expect(try stores.record() == nil)
    }

    @Test func aHintThatACrashMadeRubbishIsNone() throws {
        try stores.open().put("old")
        try killedWhileSending("late")
        world.become(.up)
        let name = "vault/current/holders/" + (try #require(directory.names(in: "vault/current/holders").first))
        let file = directory.path + "/" + name
        for rubbish in [[], [1], Array(repeating: 0, count: 15), Array(repeating: 7, count: 10_000)] as [[UInt8]] {
            directory.write(rubbish, to: name)
            chmod(file, 0o600)
            #expect(try stores.open().value() == "old")
            try stores.open(isConnected: false).put("new")
            #expect(try stores.open().value() == "new")
            #expect(stored == "new")
            try stores.open().put("old")
            try killedWhileSending("late")
            world.become(.up)
        }
    }
}

/// A connection that cancels its store's call when the service does not answer.
private struct CutConnection: BasicModule {
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

/// A weak reference to a store, for the store's own module: a strong one would keep the store alive.
private struct WeakStore {
    weak var store: Store?
}
