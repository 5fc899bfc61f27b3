import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A deferrable module with scripted faults.
private final class ScriptedPlace: BasicModule {
    /// The faults that a test scripts for the module.
    struct Faults {
        var failing: Set<StackLine.Operation> = []
        /// Whether the module saves another secret than the given one.
        var garbles = false
        /// Whether the module saves another label than the given one.
        var relabels = false
        /// Another program's save, which happens once after the next load.
        var changesAfterLoad: SaveRequest?
    }

    let name: String
    let supportsPendingWrites = true
    let faults = Mutex(Faults())
    private let log = Mutex<[String]>([])
    private let memory = MemoryModule()

    init(_ name: String) {
        self.name = name
    }

    var calls: [String] { log.withLock { $0 } }

    private func enter(_ operation: StackLine.Operation) throws(TokenKeepError) {
        log.withLock { $0.append(operation.rawValue) }
        guard faults.withLock({ !$0.failing.contains(operation) }) else {
            throw TokenKeepError(.unavailable, "told to", module: name)
        }
    }

    func load(_ item: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try enter(.load)
        let found = try memory.load(item, call)
        if let request = faults.withLock({ $0.changesAfterLoad.take() }) { _ = try memory.save(request, call) }
        var details = found.details
        details.module = name
        return TokenItem(details: details, secret: found.secret)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try enter(.save)
        if faults.withLock({ $0.relabels }) {
            return try memory.save(SaveRequest(name: request.name, secret: request.secret, label: "theirs"), call)
        }
        guard faults.withLock({ $0.garbles }) else { return try memory.save(request, call) }
        return try memory.save(SaveRequest(name: request.name, secret: SecretBytes("garbled")), call)
    }

    func clear(_ item: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        try enter(.clear)
        return try memory.clear(item, ifVersion: version, call)
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try enter(.list)
        return try memory.list(namespace: namespace, service: service, call)
    }

    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "here") }
}

extension Optional {
    /// Returns the value and leaves nil.
    fileprivate mutating func take() -> Wrapped? {
        defer { self = nil }
        return self
    }
}

/// Moves whose modules fail at each of their steps.
@Suite struct MigrationRulesTests {
    private let directory = TemporaryDirectory()
    private let call = CallContext.patient
    private let one = ScriptedPlace("one")
    private let two = ScriptedPlace("two")
    private let three = ScriptedPlace("three")
    private let records: Records
    private let name: ItemName

    init() throws {
        records = Records(at: directory.path + "/vault")
        name = try ItemName(service: "s", account: "a")
    }

    private func reconciler(
        _ stack: String = "any sufficient one\nany sufficient two\nany required vault"
    ) throws -> Reconciler {
        let modules: [any Module] = [one, two, three, VaultModule(records)]
        let programs = try StackOperations(Stack(text: stack, source: "test", directories: .none).entries) {
            line throws(TokenKeepError) in
            guard let module = modules.first(where: { $0.name == line.module }) else {
                throw TokenKeepError(.invalid, "no module", isAbsence: true)
            }
            return module
        }
        let dispatcher = Dispatcher(operations: programs, memory: MemoryModule())
        return Reconciler(dispatcher, records: records)
    }

    private func move(_ source: String, _ target: String) throws -> MigrationOutcome {
        try Migration(reconciler(), from: source, to: target).run(
            namespace: "", service: nil, isDryRun: false, call, eachItem: 10_000, progress: nil)
    }

    private func request(_ secret: String) throws -> SaveRequest {
        try SaveRequest(name: name, secret: SecretBytes(secret))
    }

    private func secret(in place: any Module) -> String? { try? place.load(name, call).secret.utf8String }

    private func seen() throws -> String? { try reconciler().load(name, call).secret.utf8String }

    @Test func theSourceLosesItWhenItWasReadBack() throws {
        _ = try one.save(request("token"), call)
        #expect(try move("one", "two").moved == 1)
        #expect(one.calls.suffix(2) == ["load", "clear"])
        #expect(two.calls.contains("save") && two.calls.last == "load")
        #expect(secret(in: one) == nil)
        #expect(secret(in: two) == "token")
        #expect(try records.record(of: name, call) == nil)
    }

    /// The target loses the altered secret, which a load might find, and the source keeps the item.
    @Test(arguments: ["one", "vault"])
    func whatDoesNotReadBackIsNotMoved(source: String) throws {
        let first: any Module = source == "vault" ? VaultModule(records) : one
        _ = try first.save(request("token"), call)
        two.faults.withLock { $0.garbles = true }
        #expect(try move(source, "two").worst?.status == .corrupt)
        #expect(try seen() == "token")
        #expect(secret(in: first) == "token")
        #expect(secret(in: two) == nil)
        #expect(try records.record(of: name, call)?.isHome == (source == "vault" ? true : nil))
        two.faults.withLock { $0.garbles = false }
        #expect(try move(source, "two").moved == 1)
        #expect(secret(in: one) == nil && secret(in: two) == "token")
        #expect(try records.record(of: name, call) == nil)
    }

    /// A target with the right secret but other metadata loses nothing, and the source keeps the item.
    @Test(arguments: ["one", "vault"], [true, false])
    func whatReadsBackWithOtherMetadataIsNotMovedNorDeleted(source: String, wasThere: Bool) throws {
        let first: any Module = source == "vault" ? VaultModule(records) : one
        _ = try first.save(request("token"), call)
        if wasThere { _ = try two.save(request("token"), call) }
        two.faults.withLock { $0.relabels = true }
        for _ in 0..<2 {
            #expect(try move(source, "two").worst?.status == .corrupt)
            #expect(!two.calls.contains("clear"))
            #expect(secret(in: first) == "token")
            #expect(secret(in: two) == "token")
            #expect(try records.record(of: name, call)?.isHome == (source == "vault" ? true : nil))
            #expect(try records.record(of: name, call)?.pending.isEmpty ?? true)
        }
        two.faults.withLock { $0.relabels = false }
        #expect(try move(source, "two").moved == 1)
        #expect(secret(in: one) == nil && secret(in: two) == "token")
    }

    /// Whichever module fails at whichever step, a load finds the item, and another run completes the move.
    @Test(arguments: [("one", "two"), ("one", "vault"), ("vault", "two")], [StackLine.Operation.save, .clear, .load])
    func aFailureAtAnyStepLosesNothing(way: (String, String), operation: StackLine.Operation) throws {
        let (source, target) = way
        let first: any Module = source == "vault" ? VaultModule(records) : one
        _ = try first.save(request("token"), call)
        for place in [one, two] { place.faults.withLock { $0.failing = [operation] } }
        // A save into the vault does not fail. A move out of the vault clears no other module.
        let succeeds = operation == .save && target == "vault" || operation == .clear && source == "vault"
        #expect(try move(source, target).failures.count == (succeeds ? 0 : 1))
        if source == "one", operation != .load { #expect(secret(in: one) == (succeeds ? nil : "token")) }
        if operation != .load { #expect(try seen() == "token") }
        for place in [one, two] { place.faults.withLock { $0.failing = [] } }
        #expect(try seen() == "token")
        _ = try move(source, target)
        #expect(try seen() == "token")
        #expect(secret(in: one) == nil)
        #expect(secret(in: two) == (target == "two" ? "token" : nil))
        #expect(try records.record(of: name, call)?.isHome == (target == "vault" ? true : nil))
    }

    /// Another program's change in the source, after the move read the item, is newer than the moved value.
    @Test func aChangeMeanwhileStays() throws {
        _ = try one.save(request("token"), call)
        one.faults.withLock { $0.changesAfterLoad = try? request("theirs") }
        let outcome = try move("one", "vault")
        #expect(outcome.worst?.status == .conflict)
        #expect(secret(in: one) == "theirs")
        #expect(try seen() == "theirs")
        #expect(try records.record(of: name, call) == nil)
        #expect(try move("one", "vault").moved == 1)
        #expect(try seen() == "theirs")
    }

    /// A copy in a third module prevents a move, because a load could later find that older copy first.
    @Test func aCopyElsewhereKeepsAnItemWhereItIs() throws {
        _ = try one.save(request("token"), call)
        _ = try two.save(request("older"), call)
        #expect(try move("one", "vault").worst?.status == .conflict)
        #expect(try seen() == "token")
        #expect(try records.record(of: name, call) == nil)
    }

    /// The item is pending for a third module, so it is not an item of the source.
    @Test func anItemOfAThirdModuleIsNotMoved() throws {
        let stack = "any sufficient three\nany sufficient one\nany required vault"
        three.faults.withLock { $0.failing = [.save, .load] }
        try records.journal.markUsed("three", call)
        #expect(try reconciler(stack).save(request("token"), call).pendingModules == ["three"])
        let outcome = try Migration(reconciler(stack), from: "vault", to: "one").run(
            namespace: "", service: nil, isDryRun: false, call, eachItem: 10_000, progress: nil)
        #expect(outcome.moved == 0 && outcome.failures.isEmpty)
        #expect(secret(in: one) == nil)
        #expect(try records.record(of: name, call)?.pending.map(\.module) == ["three"])
    }
}
