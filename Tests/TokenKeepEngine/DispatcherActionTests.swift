import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// The effect of a stack's actions on each operation.
@Suite struct DispatcherActionTests {
    private let call = CallContext.patient
    private let item: ItemName
    private let first = ScriptedModule("first")
    private let second = ScriptedModule("second")

    init() throws { item = try ItemName(service: "s", account: "a") }

    private func stack(_ text: String) throws -> Dispatcher {
        let (first, second) = (first, second)
        let programs = try StackOperations(
            Stack(text: text, source: "test", directories: .none).entries
        ) { line throws(TokenKeepError) in line.module == "first" ? first : second }
        return Dispatcher(operations: programs, memory: MemoryModule())
    }

    private func request(
        _ secret: String, if precondition: SaveRequest.Precondition = .none
    ) throws -> SaveRequest {
        try SaveRequest(
            name: item, secret: SecretBytes(secret), accessLevel: .afterFirstUnlock, precondition: precondition)
    }

    /// A save goes on after an outage only if a line says so: a load would later find the failed module's older value.
    @Test(arguments: [Status.unavailable, .timedOut, .notFound])
    func aSavePassesOnlyDeferrableModules(status: Status) throws {
        first.fail(.save, with: status)
        let text = "any required first\nany required second"
        let strict = try stack(text)
        #expect(throws: TokenKeepError(status, "")) { try strict.save(request("x"), call) }
        #expect(!second.calls.contains("save"))
        // A line may ignore every failure of its module.
        _ = try stack("any [default=ignore] first\nany required second").save(request("y"), call)
        #expect(try second.load(item, call).secret.utf8String == "y")
    }

    @Test func aSavePassesALockedModuleWhereTheStackSaysSo() throws {
        first.fail(.save, with: .locked)
        let text = "any [locked=bad default=die] first\nany required second"
        _ = try stack(text).save(request("x"), call)
        #expect(try second.load(item, call).secret.utf8String == "x")
    }

    /// A module that could not be asked has not checked the precondition, so the save must not go on.
    @Test(arguments: ["any required first", "any optional first", "any [default=ignore] first"])
    func aConditionNeverPassesAModule(line: String) throws {
        first.fail(.save, with: .unavailable)
        let stack = try stack(line + "\nany required second")
        #expect(throws: TokenKeepError(.unavailable, "")) { try stack.save(request("x", if: .absent), call) }
        #expect(!second.calls.contains("save"))
    }

    @Test func anOKKeepsTheItemInSeveralPlaces() throws {
        let stack = try stack("any [ok=ok] first\nany required second")
        let version = try stack.save(request("1"), call).version
        #expect(try first.load(item, call).secret.utf8String == "1")
        #expect(try second.load(item, call).secret.utf8String == "1")
        _ = try stack.save(request("2", if: .version(version)), call)
        #expect(try first.load(item, call).secret.utf8String == "2")
        #expect(try second.load(item, call).secret.utf8String == "2")
        // A module that fails the save loses its older copy.
        second.fail(.save, with: .locked)
        _ = try stack.save(request("3"), call)
        #expect(try first.load(item, call).secret.utf8String == "3")
        #expect(throws: TokenKeepError(.notFound, "")) { try second.load(item, call) }
    }

    @Test func aConditionalClearIsNotIgnored() throws {
        first.fail(.clear, with: .unavailable)
        let stack = try stack("any optional first")
        #expect(try !stack.clear(item, ifVersion: nil, call))
        #expect(throws: TokenKeepError(.unavailable, "")) { try stack.clear(item, ifVersion: 7, call) }
    }

    /// If no line applies to an operation, no module is asked, and the result is UNSUPPORTED.
    @Test func aStackWithoutALineForTheOperationSaysSo() throws {
        let saves = try stack("save required first")
        #expect(throws: TokenKeepError(.unsupported, "")) { try saves.load(item, call) }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saves.clear(item, ifVersion: nil, call) }
        #expect(try saves.list(namespace: "", service: nil, call).problem?.status == .unsupported)
        let loads = try stack("load required first")
        #expect(throws: TokenKeepError(.unsupported, "")) { try loads.save(request("x"), call) }
    }

    @Test func noModuleHadIt() throws {
        #expect(throws: TokenKeepError(.notFound, "")) {
            try stack("any required first\nany required second").load(item, call)
        }
        first.fail(.any, with: .locked)
        let optional = try stack("any optional first\nany [not_found=ignore] second")
        #expect(throws: TokenKeepError(.notFound, "")) { try optional.load(item, call) }
        #expect(try !optional.clear(item, ifVersion: nil, call))
        #expect(try optional.list(namespace: "", service: nil, call).items.isEmpty)
        second.fail(.save, with: .locked)
        let ignoring = try stack("any optional first\nany optional second")
        #expect(throws: TokenKeepError(.unavailable, "")) { try ignoring.save(request("x"), call) }
    }

    @Test func copiesStayWhereTheStackClearsNothing() throws {
        _ = try second.save(request("old"), call)
        _ = try stack("any required first\nload required second").save(request("new"), call)
        #expect(try second.load(item, call).secret.utf8String == "old")
        #expect(!second.calls.contains("clear"))
    }
}
