import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// The modules that a clear reaches, by the lines of the stack.
@Suite struct ClearLinesTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    @Test func aClearObeysItsLines() throws {
        try stores.open(stack: "any required vault").put("kept")
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
        // The service has no `clear` line, so its item stays.
        let half = "load required secret-service\nlist required secret-service\nany required vault"
        #expect(try stores.open(stack: half).clear(service: "example.com", account: "ann"))
        #expect(stored == "theirs")
        #expect(try stores.record() == nil)
        try stores.open(stack: "any required vault").put("kept")
        // The vault has no `clear` line, so its item stays.
        let other = "clear required secret-service\nload required vault\nlist required vault"
        #expect(try stores.open(stack: other).clear(service: "example.com", account: "ann"))
        #expect(stored == nil)
        #expect(try stores.open(stack: other).value() == "kept")
    }

    @Test func aFailureThatDoesNotCountKeepsNoClear() throws {
        try stores.open().put("token")
        for (line, status) in [("required", Status.denied), ("optional", .ok), ("[denied=ignore default=bad]", .ok)] {
            let store = try stores.open(stack: "clear \(line) secret-service\nany required vault") {
                $0.standIns["secret-service"] = { [world] in
                    RefusingConnection(base: ScriptedConnection(world, isConnected: true, versionKey: $0))
                }
            }
            var outcome = Status.ok
            do {
                try store.clear(service: "example.com", account: "ann")
            } catch { outcome = error.status }
            #expect(outcome == status, "\(line)")
        }
    }

    /// The second module cannot have a pending removal, so it is cleared although the call was cancelled.
    @Test(arguments: [true, false]) func aClearThatWasCancelledHalfwayIsDoneWhole(hasVault: Bool) throws {
        let records = stores.records
        if hasVault { try stores.open(stack: "any required vault").put("other") }
        let name = try ItemName(service: "example.com", account: "two")
        let cancellation = Cancellation()
        let call = CallContext(deadline: .patient.cancelled(by: cancellation))
        let modules = [ClearedPlace("one", supportsPendingWrites: true) { cancellation.cancel() }, ClearedPlace("two")]
        let stack = try Stack(text: "any required one\nany required two", source: "test", directories: .none)
        let programs = try StackOperations(stack.entries) { line throws(TokenKeepError) in
            guard let module = modules.first(where: { $0.name == line.module }) else {
                throw TokenKeepError(.invalid, "no module", isAbsence: true)
            }
            return module
        }
        let dispatcher = Dispatcher(operations: programs, memory: MemoryModule())
        let reconciler = Reconciler(dispatcher, records: records)
        #expect(try reconciler.clear(name, ifVersion: nil, call))
        #expect(modules.map { $0.isCleared.withLock { $0 } } == [true, true])
    }

    /// An unavailable module gets a pending removal whatever its line says, so that a cleared item does not reappear.
    @Test(arguments: ["required", "optional", "[default=ignore]", "[default=die]"])
    func anUnreachableModuleHasAPendingRemoval(control: String) throws {
        try stores.open().put("token")
        world.become(.down)
        let store = try stores.open(stack: "any \(control) secret-service\nany required vault")
        _ = try store.clear(service: "example.com", account: "ann")
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }
}

/// A module that can only clear its item. A cancelled call changes nothing.
private final class ClearedPlace: BasicModule {
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
private struct RefusingConnection: BasicModule {
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
