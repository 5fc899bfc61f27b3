import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A save or clear with a condition compares with the item that a load answers, in every state of the item.
@Suite struct ConditionTests {
    /// The ways in which an item can come to the state that a call meets.
    enum Past: CaseIterable {
        /// No module and no record has the item.
        case nothing
        case saved
        case theirs
        /// Saved before the service was used here: the vault keeps it.
        case home
        /// The same, and then another program saved the item in the service.
        case homeBehindTheirs
        case pending, pendingBehindTheirs
        case removing, removingBehindTheirs
        case serviceRemoved, serviceRemovedBehindTheirs
        case memoryOnly, memoryOnlyBeforePending
    }

    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(world, in: directory) }

    private func otherProgramSaves() throws {
        world.now = UnixTime(world.now.rawValue + 2)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
    }

    /// Brings the item to a state. Returns the store that has its memory-only item.
    private func live(through past: Past) throws -> Store {
        let store = try stores.open()
        switch past {
        case .nothing: break
        case .theirs: try otherProgramSaves()
        case .home, .homeBehindTheirs: try stores.open(isConnected: false).put("hidden")
        case .memoryOnly: try store.put("memory", level: .memoryOnly)
        default: try store.put("old")
        }
        world.become(.down)
        switch past {
        case .pending, .pendingBehindTheirs: try stores.open().put("ours")
        case .removing, .removingBehindTheirs: try stores.open().clear(service: "example.com", account: "ann")
        case .serviceRemoved, .serviceRemovedBehindTheirs: _ = try stores.open().clear(service: "example.com")
        case .memoryOnlyBeforePending:
            try stores.open().put("ours")
            try store.put("memory", level: .memoryOnly)
        default: break
        }
        world.become(.up)
        switch past {
        case .homeBehindTheirs, .pendingBehindTheirs, .removingBehindTheirs, .serviceRemovedBehindTheirs:
            try otherProgramSaves()
        default: break
        }
        return store
    }

    private func status(_ body: () throws -> Void) -> Status {
        do {
            try body()
            return .ok
        } catch let error as TokenKeepError {
            return error.status
        } catch {
            return .internal
        }
    }

    @Test(arguments: Past.allCases, [false, true]) func aSaveOverTheLoadedVersionIsDone(past: Past, isNew: Bool) throws
    {
        var store = try live(through: past)
        let loaded = try store.item()
        if isNew, past != .memoryOnly, past != .memoryOnlyBeforePending { store = try stores.open() }
        try store.put("new", if: loaded.map { .version($0.details.version) } ?? .absent)
        #expect(try store.value() == "new")
        if past != .memoryOnly, past != .memoryOnlyBeforePending { #expect(try stores.open().value() == "new") }
    }

    @Test(arguments: Past.allCases) func aSaveOverAnotherVersionChangesNothing(past: Past) throws {
        let store = try live(through: past)
        let hidden = try stores.record()?.details?.version
        let loaded = try store.item()
        let version = loaded?.details.version
        for other in [hidden, (version ?? 7) &+ 1].compactMap({ $0 }) where other != version && other != 0 {
            #expect(status { try store.put("new", if: .version(other)) } == .conflict, "a save over \(other)")
            #expect(
                status { try store.clear(service: "example.com", account: "ann", ifVersion: other) } == .conflict,
                "a clear of \(other)")
        }
        #expect(status { try store.put("new", if: .absent) } == (loaded == nil ? .ok : .duplicate))
        #expect(try store.value() == loaded?.secret.utf8String ?? "new")
    }

    @Test(arguments: Past.allCases) func aClearOfTheLoadedVersionIsDone(past: Past) throws {
        let store = try live(through: past)
        guard let loaded = try store.item() else { return }
        try store.clear(service: "example.com", account: "ann", ifVersion: loaded.details.version)
        #expect(try store.item() == nil)
        #expect(try stores.open().item() == nil)
        #expect(world.items[try name()] == nil)
    }

    /// A load passes over a module that cannot be asked. A condition does not: the module may have another item.
    @Test(arguments: [ScriptedService.Condition.down, .locked, .hung])
    func aModuleThatCannotBeAskedRefusesTheCondition(condition: ScriptedService.Condition) throws {
        let store = try live(through: .homeBehindTheirs)
        _ = try store.item()
        world.become(condition)
        let loaded = try #require(try stores.open().item())
        #expect(loaded.secret.utf8String == "hidden")
        let expected: Status =
            switch condition {
            case .down: .unavailable
            case .locked: .locked
            default: .timedOut
            }
        #expect(status { try stores.open().put("new", if: .version(loaded.details.version)) } == expected)
        #expect(
            status {
                try stores.open().clear(service: "example.com", account: "ann", ifVersion: loaded.details.version)
            }
                == expected)
        world.become(.up)
        #expect(try stores.open().value() == "theirs")
    }

    /// A module that was never used here has nothing to say: the vault's item is the item.
    @Test func anAbsentModuleRefusesNothing() throws {
        try stores.open(isConnected: false).put("first")
        let far = try stores.open(isConnected: false)
        let version = try #require(try far.item()).details.version
        try far.put("second", if: .version(version))
        #expect(try far.value() == "second")
        try far.clear(service: "example.com", account: "ann", ifVersion: #require(try far.item()).details.version)
        #expect(try far.item() == nil)
    }

    /// Another program's item of the later module is not what a load answers.
    @Test func theVaultBeforeTheServiceIsCompared() throws {
        let stack = "any sufficient vault\nany required secret-service"
        let store = try stores.open(stack: stack)
        try store.put("vault's")
        try otherProgramSaves()
        let loaded = try #require(try store.item())
        #expect(loaded.secret.utf8String == "vault's")
        try store.put("new", if: .version(loaded.details.version))
        #expect(try store.value() == "new")
    }
}
