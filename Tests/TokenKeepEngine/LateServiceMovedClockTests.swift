import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A service that answers late, but within the time that every call gives it, while a change is pending for it.
@Suite struct LateServiceMovedClockTests {
    private static let latencies: [UInt32] = [0, 100, 300, 1000, 3000]
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    /// Another program saves later than our pending change, and the service comes back.
    private func otherProgramSaves(_ secret: String, _ account: String = "ann", latency: UInt32 = 0) throws {
        world.now = UnixTime(world.now.rawValue + 2)
        world.put(ItemDetails(name: try name(account), label: "x", module: "secret-service"), try SecretBytes(secret))
        world.become(.up)
        world.latency = latency
    }

    @Test(arguments: latencies) func aLoadAnswersAnotherProgramsNewerValue(latency: UInt32) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        try store.put("ours", "ann")
        try otherProgramSaves("theirs", latency: latency)
        #expect(try store.value() == "theirs")
    }

    @Test(arguments: latencies) func aRemovalHidesNoNewerValue(latency: UInt32) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        try store.clear(service: "example.com", account: "ann")
        try otherProgramSaves("theirs", latency: latency)
        #expect(try store.value() == "theirs")
    }

    @Test(arguments: latencies) func theRemovalOfAServiceHidesNoNewerValue(latency: UInt32) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        _ = try store.clear(service: "example.com")
        try otherProgramSaves("theirs", latency: latency)
        #expect(try store.value() == "theirs")
    }

    @Test(arguments: latencies, [true, false]) func aConditionSeesTheNewerValue(latency: UInt32, saves: Bool) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        let version = try store.put("ours", "ann").version
        try otherProgramSaves("theirs", latency: latency)
        #expect(throws: TokenKeepError(.conflict, "")) {
            if saves {
                try store.put("new", if: .version(version))
            } else {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            }
        }
        #expect(try store.value() == "theirs")
    }

    /// The save drains the removal of its service first, and then reaches the service.
    @Test(arguments: latencies) func aSaveReachesTheServiceBehindARemoval(latency: UInt32) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        _ = try store.clear(service: "example.com")
        world.become(.up)
        world.latency = latency
        #expect(try store.put("new", "ann").pendingModules == [])
        #expect(world.items[try name()]?.secret.utf8String == "new")
    }

    /// A watch drains before it reads, so that it can report another program's newer value.
    @Test(arguments: [0, 100, 300, 1000] as [UInt32]) func aWatchDrains(latency: UInt32) throws {
        let store = try stores.open()
        try store.put("old", "ann")
        world.become(.down)
        try store.put("ours", "ann")
        world.become(.up)
        world.latency = latency
        #expect(try store.withoutPrompts.drain(until: store.deadline))
        #expect(world.items[try name()]?.secret.utf8String == "ours")
    }

    /// The removal of the service cannot be drained as a whole, because the module keeps one of the items.
    @Test func aRemovalThatIsDrainedInPartHidesNoNewerValue() throws {
        let keeper = KeepingConnections(world)
        let store = try keeper.store(directory)
        for account in ["ann", "zoe"] { try store.put("old", account) }
        world.become(.down)
        _ = try store.clear(service: "example.com")
        try otherProgramSaves("theirs", "zoe")
        keeper.isKept.withLock { $0 = true }
        #expect(try store.value("zoe") == "theirs")
        #expect(try store.value("ann") == nil)
    }

    /// Between the load's look at the record and its drain, another process drains the item.
    @Test func aDrainOfAnotherProcessMakesNoLoadStale() throws {
        let keeper = KeepingConnections(world)
        let store = try keeper.store(directory)
        try store.put("old", "ann")
        world.become(.down)
        try store.put("ours", "ann")
        try otherProgramSaves("theirs")
        let other = try stores.open()
        keeper.whenAsked.withLock { $0 = { _ = try? other.load(service: "example.com", account: "ann") } }
        #expect(try store.value() == "theirs")
        #expect(try other.value() == "theirs")
    }
}

/// Connections to a scripted service that can refuse a removal, and that notice when a store asks whether they answer.
private final class KeepingConnections: Sendable {
    let isKept = MutexGuarded(false)
    let whenAsked = MutexGuarded<(@Sendable () -> Void)?>(nil)
    private let world: ScriptedService

    init(_ world: ScriptedService) { self.world = world }

    func store(_ directory: TemporaryDirectory) throws -> Store {
        try TestStore(world, in: directory).open {
            $0.standIns["secret-service"] = { [self] in
                KeepingConnection(base: ScriptedConnection(world, isConnected: true, versionKey: $0), connections: self)
            }
        }
    }
}

private struct KeepingConnection: BasicModule {
    let base: ScriptedConnection
    let connections: KeepingConnections

    var name: String { base.name }
    var supportsPendingWrites: Bool { true }
    var reportsModificationTime: Bool { base.reportsModificationTime }
    var mayAnswer: Bool {
        let body = connections.whenAsked.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
        return base.mayAnswer
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem { try base.load(name, call) }
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try base.save(request, call)
    }
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        if name.account == "ann", connections.isKept.withLock({ $0 }) { throw TokenKeepError(.denied, "it stays") }
        return try base.clear(name, ifVersion: version, call)
    }
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }
    func report(_ call: CallContext) -> ModuleReport { base.report(call) }
}
