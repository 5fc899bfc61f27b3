import Synchronization
import Testing
import TokenKeepCore
import TokenKeepRecords

@testable import TokenKeepEngine

/// A module that fails with scripted statuses, and otherwise keeps items in memory.
final class ScriptedModule: BasicModule {
    let name: String
    private let memory = MemoryModule()
    private let failures: Mutex<[StackLine.Operation: Status]>
    private let asked = Mutex<[String]>([])
    /// Runs before each removal.
    let beforeClear = Mutex<(@Sendable () -> Void)?>(nil)
    /// Runs once, before the next load.
    let beforeLoad = Mutex<(@Sendable () -> Void)?>(nil)
    /// Runs once, before the next save.
    let beforeSave = Mutex<(@Sendable () -> Void)?>(nil)

    private let own: Protection?

    /// - Parameter own: the protection that the module states; nil if it states none.
    init(_ name: String, failing failures: [StackLine.Operation: Status] = [:], protecting own: Protection? = nil) {
        self.name = name
        self.own = own
        self.failures = Mutex(failures)
    }

    var calls: [String] { asked.withLock { $0 } }

    func fail(_ operation: StackLine.Operation, with status: Status?) {
        failures.withLock { $0[operation] = status }
    }

    private static func takeOut(_ hook: borrowing Mutex<(@Sendable () -> Void)?>) -> (@Sendable () -> Void)? {
        hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
    }

    private func enter(_ operation: StackLine.Operation) throws(TokenKeepError) {
        asked.withLock { $0.append(operation.rawValue) }
        let status = failures.withLock { $0[operation] ?? $0[.any] }
        if let status { throw TokenKeepError(status, "told to", module: name) }
    }

    func load(_ item: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try enter(.load)
        ScriptedModule.takeOut(beforeLoad)?()
        let found = try memory.load(item, call)
        var details = found.details
        details.module = name
        return TokenItem(details: details, secret: found.secret)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try enter(.save)
        ScriptedModule.takeOut(beforeSave)?()
        return try memory.save(request, call)
    }

    func clear(
        _ item: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try enter(.clear)
        beforeClear.withLock { $0 }?()
        return try memory.clear(item, ifVersion: version, call)
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try enter(.list)
        return try memory.list(namespace: namespace, service: service, call)
    }

    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "here") }

    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { own }
}

@Suite struct DispatcherTests {
    private let call = CallContext.patient
    private let item: ItemName
    private let first = ScriptedModule("first")
    private let second = ScriptedModule("second")

    init() throws { item = try ItemName(service: "s", account: "a") }

    private func stack(_ text: String = "any sufficient first\nany required second") throws -> Dispatcher {
        let modules: [String: any Module] = ["first": first, "second": second]
        let stack = try Stack(text: text, source: "test", directories: .none)
        let operations = try StackOperations(stack.entries) { line throws(TokenKeepError) in
            guard let module = modules[line.module] else {
                throw TokenKeepError(.invalid, "no module", isAbsence: true)
            }
            return module
        }
        return Dispatcher(operations: operations, memory: MemoryModule())
    }

    /// Another process may save between the check of the version and the removal.
    @Test(arguments: [false, true])
    func aConditionalClearIsJudgedAgainByThePlaceThatHasTheItem(isFirst: Bool) throws {
        let (place, item, call) = (isFirst ? first : second, item, call)
        _ = try place.save(SaveRequest(name: item, secret: SecretBytes("old")), call)
        let version = try place.load(item, call).details.version
        place.beforeClear.withLock {
            $0 = { [weak place] in _ = try? place?.save(SaveRequest(name: item, secret: SecretBytes("new")), call) }
        }
        #expect(throws: TokenKeepError(.conflict, "")) { try stack().clear(item, ifVersion: version, call) }
        #expect(try place.load(item, call).secret.utf8String == "new")
    }

    private func request(
        _ secret: String = "x", level: AccessLevel? = .afterFirstUnlock,
        if precondition: SaveRequest.Precondition = .none
    ) throws -> SaveRequest {
        try SaveRequest(
            name: item, secret: SecretBytes(secret), accessLevel: level, precondition: precondition)
    }

    @Test func theFirstThatHasTheItemAnswers() throws {
        _ = try second.save(request("below"), call)
        #expect(try stack().load(item, call).details.module == "second")
        _ = try first.save(request("above"), call)
        #expect(try stack().load(item, call).details.module == "first")
    }

    /// A locked or unavailable module must never look like "no token".
    @Test(arguments: [
        (Status.notFound, Status.notFound, Status.notFound),
        (.locked, .notFound, .locked), (.notFound, .locked, .locked),
        (.corrupt, .notFound, .corrupt), (.corrupt, .unavailable, .unavailable),
        (.unavailable, .timedOut, .timedOut), (.timedOut, .locked, .locked), (.io, .corrupt, .io),
        (.denied, .unavailable, .unavailable),
    ])
    func theWorstFailureIsTheAnswer(one: Status, two: Status, answer: Status) throws {
        first.fail(.load, with: one)
        second.fail(.load, with: two)
        let stack = try stack()
        #expect(throws: TokenKeepError(answer, "")) { try stack.load(item, call) }
    }

    @Test func aFailureAboveDoesNotHideTheItemBelow() throws {
        _ = try second.save(request(), call)
        first.fail(.load, with: .locked)
        #expect(try stack().load(item, call).details.module == "second")
        let requisite = try stack("any requisite first\nany required second")
        #expect(throws: TokenKeepError(.locked, "")) { try requisite.load(item, call) }
    }

    @Test func anOptionalModulesFailureDoesNotCount() throws {
        first.fail(.any, with: .unavailable)
        let stack = try stack("any optional first\nany required second")
        #expect(throws: TokenKeepError(.notFound, "")) { try stack.load(item, call) }
        _ = try stack.save(request(), call)
        #expect(second.calls.contains("save"))
        #expect(try stack.clear(item, ifVersion: nil, call))
    }

    @Test(arguments: [Status.locked, .denied, .policy, .cancelled, .unavailable])
    func aSaveDoesNotPassAModuleThatRefuses(status: Status) throws {
        first.fail(.save, with: status)
        let stack = try stack()
        #expect(throws: TokenKeepError(status, "")) { try stack.save(request(), call) }
        #expect(!second.calls.contains("save"))
    }

    @Test func copiesFurtherDownGo() throws {
        _ = try second.save(request("old"), call)
        let stack = try stack()
        _ = try stack.save(request("new"), call)
        #expect(throws: TokenKeepError(.notFound, "")) { try second.load(item, call) }
        second.fail(.clear, with: .unavailable)
        #expect {
            try stack.save(request("newer"), call)
        } throws: { error in
            (error as? TokenKeepError)?.message.contains("older copy in second") == true
        }
    }

    @Test func clearingVisitsEveryModuleAndReportsTheWorst() throws {
        _ = try first.save(request(), call)
        _ = try second.save(request(), call)
        first.fail(.clear, with: .unavailable)
        let stack = try stack()
        #expect(throws: TokenKeepError(.unavailable, "")) { try stack.clear(item, ifVersion: nil, call) }
        #expect(throws: TokenKeepError(.notFound, "")) { try second.load(item, call) }
        first.fail(.clear, with: nil)
        #expect(try stack.clear(item, ifVersion: nil, call))
        #expect(try !stack.clear(item, ifVersion: nil, call))
    }

    @Test func listsTheUnionAndNamesTheProblem() throws {
        _ = try first.save(request(), call)
        _ = try second.save(request(), call)
        _ = try second.save(
            SaveRequest(name: ItemName(service: "r", account: "b"), secret: SecretBytes("x")), call)
        let stack = try stack()
        #expect(try stack.list(namespace: "", service: nil, call).items.map(\.name.service) == ["r", "s"])
        #expect(try stack.list(namespace: "other", service: nil, call).items.isEmpty)
        first.fail(.list, with: .locked)
        let partial = try stack.list(namespace: "", service: nil, call)
        #expect(partial.items.count == 2)
        #expect(partial.problem?.status == .locked)
        second.fail(.list, with: .unavailable)
        #expect(throws: TokenKeepError(.locked, "")) { try stack.list(namespace: "", service: nil, call) }
    }

    @Test func conditionsSeeTheItemWhereverItIs() throws {
        let version = try second.save(request("old"), call)
        let stack = try stack()
        #expect(throws: TokenKeepError(.duplicate, "")) { try stack.save(request("new", if: .absent), call) }
        #expect(throws: TokenKeepError(.conflict, "")) {
            try stack.save(request("new", if: .version(version &+ 1)), call)
        }
        _ = try stack.save(request("new", if: .version(version)), call)
        #expect(try stack.load(item, call).secret.utf8String == "new")
        #expect(throws: TokenKeepError(.conflict, "")) { try stack.clear(item, ifVersion: version, call) }
    }

    /// A module that cannot be asked may have the item, so a precondition fails.
    @Test func conditionsDoNotPassAModuleThatCannotBeAsked() throws {
        second.fail(.load, with: .unavailable)
        let stack = try stack()
        #expect(throws: TokenKeepError(.unavailable, "")) { try stack.save(request("x", if: .absent), call) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try stack.clear(item, ifVersion: 1, call) }
    }

    @Test func savingWithDefaultsKeepsTheLevelOfTheItemBelow() throws {
        _ = try second.save(request("old", level: .whenUnlocked), call)
        let stack = try stack()
        _ = try stack.save(request("new", level: nil), call)
        #expect(try stack.load(item, call).details.accessLevel == .whenUnlocked)
    }

    // MARK: Memory-only items

    /// The stack behind the journal, which looks for a memory-only item first.
    private func journal() throws -> Reconciler {
        Reconciler(try stack(), records: Records(at: "/nonexistent"))
    }

    @Test func memoryOnlyItemsStandBeforeTheStackAndRemoveNothingBelow() throws {
        let stack = try journal()
        _ = try stack.save(request("kept"), call)
        _ = try stack.save(request("123456", level: .memoryOnly), call)
        #expect(try stack.load(item, call).secret.utf8String == "123456")
        #expect(try first.load(item, call).secret.utf8String == "kept")
        // A save without a level keeps the level memory-only. A save with another level removes the memory-only item.
        _ = try stack.save(request("654321", level: nil), call)
        #expect(try stack.load(item, call).details.accessLevel == .memoryOnly)
        #expect(try first.load(item, call).secret.utf8String == "kept")
        _ = try stack.save(request("public"), call)
        #expect(try stack.load(item, call).secret.utf8String == "public")
        #expect(try stack.load(item, call).details.module == "first")
    }

    @Test func memoryOnlyItemsAreListedComparedAndCleared() throws {
        let stack = try journal()
        let version = try stack.save(request("1", level: .memoryOnly), call).version
        #expect(try stack.list(namespace: "", service: "s", call).items.map(\.module) == ["memory"])
        #expect(throws: TokenKeepError(.duplicate, "")) {
            try stack.save(request("2", level: .memoryOnly, if: .absent), call)
        }
        #expect(throws: TokenKeepError(.conflict, "")) {
            try stack.save(request("2", if: .version(version &+ 1)), call)
        }
        #expect(throws: TokenKeepError(.conflict, "")) { try stack.clear(item, ifVersion: version &+ 1, call) }
        #expect(try stack.clear(item, ifVersion: version, call))
        #expect(throws: TokenKeepError(.notFound, "")) { try stack.load(item, call) }
    }

    // MARK: Memory-only items that another thread saves or clears meanwhile

    /// Saves a memory-only item before the module's next load, like another thread.
    private func saveInMemory(
        _ secret: String, before hook: borrowing Mutex<(@Sendable () -> Void)?>, _ stack: Reconciler,
        if precondition: SaveRequest.Precondition = .none
    ) throws {
        let (request, call) = (try request(secret, level: .memoryOnly, if: precondition), call)
        hook.withLock { $0 = { _ = try? stack.save(request, call) } }
    }

    @Test func ofTwoFirstSavesOfAMemoryOnlyItemOneIsADuplicate() throws {
        let stack = try journal()
        try saveInMemory("theirs", before: first.beforeLoad, stack, if: .absent)
        #expect(throws: TokenKeepError(.duplicate, "")) {
            try stack.save(request("ours", level: .memoryOnly, if: .absent), call)
        }
        #expect(try stack.load(item, call).secret.utf8String == "theirs")
    }

    /// A load returns a memory-only item, so a condition that is compared meanwhile must see that item, too.
    @Test func conditionsSeeAMemoryOnlyItemThatCameMeanwhile() throws {
        let stack = try journal()
        let version = try stack.save(request("kept"), call).version
        try saveInMemory("theirs", before: first.beforeLoad, stack)
        #expect(throws: TokenKeepError(.conflict, "")) {
            try stack.save(request("ours", if: .version(version)), call)
        }
        #expect(try stack.dispatcher.memory.clear(item, ifVersion: nil, call))
        try saveInMemory("theirs", before: first.beforeLoad, stack)
        #expect(throws: TokenKeepError(.conflict, "")) { try stack.clear(item, ifVersion: version, call) }
        #expect(try first.load(item, call).secret.utf8String == "kept")
        #expect(try stack.load(item, call).secret.utf8String == "theirs")
    }

    /// The modules have the value: a conflict would say that nothing was saved.
    @Test func aConditionalSaveRemovesNoMemoryOnlyItemThatCameMeanwhile() throws {
        let stack = try journal()
        let version = try stack.save(request("old", level: .memoryOnly), call).version
        try saveInMemory("theirs", before: first.beforeSave, stack)
        #expect(try stack.save(request("ours", if: .version(version)), call).module == "first")
        #expect(try stack.load(item, call).secret.utf8String == "theirs")
        #expect(try first.load(item, call).secret.utf8String == "ours")
    }

    @Test func anUnconditionalSaveReplacesAMemoryOnlyItemThatCameMeanwhile() throws {
        let stack = try journal()
        _ = try stack.save(request("old", level: .memoryOnly), call)
        try saveInMemory("theirs", before: first.beforeSave, stack)
        _ = try stack.save(request("ours"), call)
        #expect(try stack.load(item, call).secret.utf8String == "ours")
        #expect(try stack.load(item, call).details.module == "first")
    }

    /// In memory alone, an item of a durable level would end with the process.
    @Test func aSaveWithoutALevelKeepsNoDurableItemInMemoryAlone() throws {
        let stack = try journal()
        _ = try stack.save(request("old", level: .memoryOnly), call)
        let seen = try #require(stack.dispatcher.memory.item(item))
        #expect(try stack.clear(item, ifVersion: nil, call))
        let outcome = try stack.save(request("new", level: nil), over: seen, call)
        #expect(outcome?.module == nil, "the save begins again")
        #expect(stack.dispatcher.memory.item(item) == nil)
        #expect(try stack.save(request("new", level: nil), call).module == "first")
    }
}
