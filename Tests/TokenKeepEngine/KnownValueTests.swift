import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Values that a store has seen in a service: they are older than its later changes, and tell the item's level.
@Suite struct KnownValueTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private var stored: String? { (try? name()).flatMap { world.items[$0]?.secret.utf8String } }

    private func secondsPass(_ seconds: Int64 = 2) { world.now = UnixTime(world.now.rawValue + seconds) }

    // MARK: Clocks

    /// A value that was seen in the service is older than the present save, whatever its modification time.
    @Test(arguments: ["saved", "loaded", "judged"]) func aClockSetBackLetsNoOlderValueWin(how: String) throws {
        let store = try stores.open()
        let version = try stores.open().put("old").version
        switch how {
        case "saved": try store.put("old")
        case "loaded": #expect(try store.value() == "old")
        default:
            #expect(throws: TokenKeepError(.conflict, "")) {
                try store.clear(service: "example.com", account: "ann", ifVersion: version &+ 1)
            }
        }
        world.setClock(by: -1000)
        world.become(.down)
        try store.put("new")
        world.become(.up)
        #expect(try stores.open().value() == "new")
        #expect(try stores.open().value() == "new")
        #expect(stored == "new")
    }

    @Test func aClockSetBackUndoesNoClear() throws {
        let store = try stores.open()
        try store.put("old")
        world.setClock(by: -1000)
        world.become(.down)
        try store.clear(service: "example.com", account: "ann")
        world.become(.up)
        #expect(try stores.open().value() == nil)
        #expect(stored == nil)
    }

    /// The record keeps the value that a drain saw in the service, so that another process knows it.
    @Test func whatADrainSawStandsInTheRecord() throws {
        try stores.open().put("old")
        try stores.open(isConnected: false).put("new")
        world.fault = (.hangsBefore, 1)  // the drain looks at the item, and writes nothing
        #expect(try stores.open().value() == "new")
        #expect(try stores.record()?.pending.first?.base != nil)
        world.become(.down)  // the hung service's queue is lost
        world.setClock(by: -1000)
        try stores.open(isConnected: false).put("newer")
        world.become(.up)
        #expect(try stores.open().value() == "newer")
        #expect(stored == "newer")
    }

    /// Another program's later value stays, even if an earlier value of the module was seen.
    @Test func anotherProgramsLaterValueStays() throws {
        let store = try stores.open()
        try store.put("old")
        world.become(.down)
        try store.put("ours")
        secondsPass()
        world.become(.up)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
        #expect(try stores.open().value() == "theirs")
    }

    // MARK: Levels

    /// A save without a level keeps the level that this process saw, and cannot keep a level that it never saw.
    @Test func aFallbackKeepsTheLevelThatWasSeen() throws {
        let store = try stores.open()
        try store.put("old", level: .whenUnlocked)
        world.become(.down)
        try store.put("new")
        #expect(try store.load(service: "example.com", account: "ann").details.accessLevel == .whenUnlocked)
        world.become(.up)
        #expect(try stores.open().value() == "new")
        #expect(try stores.open().load(service: "example.com", account: "ann").details.accessLevel == .whenUnlocked)
        let other = try stores.open()
        world.become(.down)
        try other.put("unseen")
        #expect(try other.load(service: "example.com", account: "ann").details.accessLevel == .afterFirstUnlock)
    }

    /// A value saved in one step is known: it becomes the base of a later pending write, and its level is kept.
    @Test func whatWasSavedAtOnceIsKnown() throws {
        let store = try stores.open()
        try store.put("v1", level: .whenUnlocked)
        try store.put("v2")
        world.setClock(by: -1000)
        world.become(.down)
        try store.put("v3")
        let fingerprint = try stores.records.fingerprint(of: SecretBytes("v2"))
        let record = try #require(try stores.record())
        #expect(record.pending.map(\.base) == [fingerprint])
        #expect(record.details?.accessLevel == .whenUnlocked)
        world.become(.up)
        #expect(try stores.open().value() == "v3")
        #expect(stored == "v3")
        #expect(world.items[try name()]?.details.accessLevel == .whenUnlocked)
    }
}
