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

    private func open(isConnected: Bool = true, stack: String = ScriptedService.stack) throws -> Store {
        try world.store(vaultPath: directory.path + "/vault", isConnected: isConnected, stack: stack)
    }

    private func name() throws -> ItemName { try ItemName(service: "example.com", account: "ann") }

    @discardableResult
    private func save(
        _ store: Store, _ secret: String, if precondition: SaveRequest.Precondition = .none, level: AccessLevel? = nil
    ) throws -> SaveOutcome {
        var request = try SaveRequest(name: name(), secret: SecretBytes(secret), accessLevel: level)
        request.precondition = precondition
        return try store.save(request)
    }

    private func item(_ store: Store) throws -> TokenItem? {
        do {
            return try store.load(service: "example.com", account: "ann")
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func value(_ store: Store) throws -> String? { try item(store)?.secret.utf8String }

    private func otherProgramSaves() throws {
        world.now = UnixTime(world.now.rawValue + 2)
        world.put(ItemDetails(name: try name(), label: "x", module: "secret-service"), try SecretBytes("theirs"))
    }

    /// Brings the item to a state. Returns the store that has its memory-only item.
    private func live(through past: Past) throws -> Store {
        let store = try open()
        switch past {
        case .nothing: break
        case .theirs: try otherProgramSaves()
        case .home, .homeBehindTheirs: try save(open(isConnected: false), "hidden")
        case .memoryOnly: try save(store, "memory", level: .memoryOnly)
        default: try save(store, "old")
        }
        world.become(.down)
        switch past {
        case .pending, .pendingBehindTheirs: try save(open(), "ours")
        case .removing, .removingBehindTheirs: try open().clear(service: "example.com", account: "ann")
        case .serviceRemoved, .serviceRemovedBehindTheirs: _ = try open().clear(service: "example.com")
        case .memoryOnlyBeforePending:
            try save(open(), "ours")
            try save(store, "memory", level: .memoryOnly)
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
        let loaded = try item(store)
        if isNew, past != .memoryOnly, past != .memoryOnlyBeforePending { store = try open() }
        try save(store, "new", if: loaded.map { .version($0.details.version) } ?? .absent)
        #expect(try value(store) == "new")
        if past != .memoryOnly, past != .memoryOnlyBeforePending { #expect(try value(open()) == "new") }
    }

    @Test(arguments: Past.allCases) func aSaveOverAnotherVersionChangesNothing(past: Past) throws {
        let store = try live(through: past)
        let hidden = try Records(at: directory.path + "/vault").record(
            of: name(), CallContext(deadline: Deadline(milliseconds: Patience.milliseconds)))?.details?.version
        let loaded = try item(store)
        let version = loaded?.details.version
        for other in [hidden, (version ?? 7) &+ 1].compactMap({ $0 }) where other != version && other != 0 {
            #expect(status { try save(store, "new", if: .version(other)) } == .conflict, "a save over \(other)")
            #expect(
                status { try store.clear(service: "example.com", account: "ann", ifVersion: other) } == .conflict,
                "a clear of \(other)")
        }
        #expect(status { try save(store, "new", if: .absent) } == (loaded == nil ? .ok : .duplicate))
        #expect(try value(store) == loaded?.secret.utf8String ?? "new")
    }

    @Test(arguments: Past.allCases) func aClearOfTheLoadedVersionIsDone(past: Past) throws {
        let store = try live(through: past)
        guard let loaded = try item(store) else { return }
        try store.clear(service: "example.com", account: "ann", ifVersion: loaded.details.version)
        #expect(try item(store) == nil)
        #expect(try item(open()) == nil)
        #expect(world.items[try name()] == nil)
    }

    /// A load passes over a module that cannot be asked. A condition does not: the module may have another item.
    @Test(arguments: [ScriptedService.Condition.down, .locked, .hung])
    func aModuleThatCannotBeAskedRefusesTheCondition(condition: ScriptedService.Condition) throws {
        let store = try live(through: .homeBehindTheirs)
        _ = try item(store)
        world.become(condition)
        let loaded = try #require(try item(open()))
        #expect(loaded.secret.utf8String == "hidden")
        let expected: Status =
            switch condition {
            case .down: .unavailable
            case .locked: .locked
            default: .timedOut
            }
        #expect(status { try save(open(), "new", if: .version(loaded.details.version)) } == expected)
        #expect(
            status { try open().clear(service: "example.com", account: "ann", ifVersion: loaded.details.version) }
                == expected)
        world.become(.up)
        #expect(try value(open()) == "theirs")
    }

    /// A module that was never used here has nothing to say: the vault's item is the item.
    @Test func anAbsentModuleRefusesNothing() throws {
        try save(open(isConnected: false), "first")
        let far = try open(isConnected: false)
        let version = try #require(try item(far)).details.version
        try save(far, "second", if: .version(version))
        #expect(try value(far) == "second")
        try far.clear(service: "example.com", account: "ann", ifVersion: #require(try item(far)).details.version)
        #expect(try item(far) == nil)
    }

    /// Another program's item of the later module is not what a load answers.
    @Test func theVaultBeforeTheServiceIsCompared() throws {
        let stack = "any sufficient vault\nany required secret-service"
        let store = try open(stack: stack)
        try save(store, "vault's")
        try otherProgramSaves()
        let loaded = try #require(try item(store))
        #expect(loaded.secret.utf8String == "vault's")
        try save(store, "new", if: .version(loaded.details.version))
        #expect(try value(store) == "new")
    }
}
