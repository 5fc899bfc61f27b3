import Foundation
import StoreTestSupport
import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Calls that are cancelled while a real gnome-keyring hangs, or while another process holds a lock.
@Suite struct CancellationTests {
    private let vault = TemporaryDirectory()
    /// The timeout of the stores: a call that a cancellation does not end lasts longer than the tests' patience.
    private static let longest = Patience.milliseconds * 10

    private func stores(_ keyring: PrivateKeyring?, stack: String = TestStore.stack) -> TestStore {
        let address = keyring?.bus.address ?? "unix:path=/nonexistent/bus"
        return TestStore(in: vault, stack: stack) { configuration, _ in
            configuration.timeoutMilliseconds = Self.longest
            configuration.busAddress = address
        }
    }

    private func run(_ operation: String, _ store: Store) -> Status {
        do {
            switch operation {
            case "load": _ = try store.value()
            case "save": try store.put("new")
            case "clear": try store.clear(service: "example.com", account: "ann")
            case "list": _ = try store.list()
            case "sync": _ = try store.pendingChanges.sync()
            case "migrate": _ = try store.transfer.migrate(from: "vault", to: "secret-service")
            case "forget": _ = try store.pendingChanges.forget(module: "secret-service")
            default: _ = try store.clear(service: "example.com")
            }
            return .ok
        } catch {
            return error.status
        }
    }

    /// Runs operations on threads, cancels them once all wait, and returns their statuses.
    private func cancelled(_ operations: [String], _ store: Store) throws -> [Status] {
        let outcomes = MutexGuarded<[Status]>([])
        var threads: [TestThread] = []
        for operation in operations {
            threads.append(
                TestThread {
                    let status = run(operation, store)
                    outcomes.withLock { $0.append(status) }
                })
        }
        #expect(TestThread.wait(untilAsleep: threads))
        let limit = Deadline.patient
        store.cancel()
        for thread in threads { thread.join() }
        #expect(!limit.hasPassed)
        return outcomes.withLock { $0 }
    }

    private func wait(_ condition: () -> Bool) throws {
        guard Patience.wait(until: condition) else { throw HarnessFailure(message: "it did not happen") }
    }

    @Test(arguments: ["load", "save", "clear", "list", "migrate"], [true, false])
    func aFrozenServiceHoldsNobody(operation: String, isConnected: Bool) throws {
        let keyring = try PrivateKeyring()
        try stores(keyring).open().put("old")
        if operation == "migrate" { try stores(nil, stack: "any required vault").open().put("x", "moving") }
        let store = try stores(keyring).open()
        if isConnected { _ = try store.value() }
        keyring.freeze(true)
        let statuses = try cancelled([operation], store)
        #expect(statuses == [.cancelled])
        keyring.freeze(false)
        // A save over a known item sends the value at once. No other operation has sent a change.
        try expectWhole(keyring, store, mayBeNew: operation == "save" && isConnected)
        try store.put("newer")
        #expect(try stores(keyring).open().value() == "newer")
    }

    /// A cancellation ends every call in flight on many threads, and no later call.
    @Test func everyCallInFlightEnds() throws {
        let keyring = try PrivateKeyring()
        try stores(keyring).open().put("old")
        let store = try stores(keyring).open()
        _ = try store.value()
        keyring.freeze(true)
        let calls = ["load", "save", "clear", "list", "load", "save", "clear service", "list"]
        let statuses = try cancelled(calls, store)
        #expect(statuses == Array(repeating: .cancelled, count: calls.count))
        keyring.freeze(false)
        try expectWhole(keyring, store, mayBeNew: true)
    }

    /// Checks that a cancelled call left the old or the new value, which every store then sees, and keeps.
    private func expectWhole(_ keyring: PrivateKeyring, _ store: Store, mayBeNew: Bool) throws {
        let value = try store.value()
        #expect(value == "old" || mayBeNew && value == "new")
        #expect(try stores(keyring).open().value() == value)
        #expect(try store.pendingChanges.sync().left == 0)
        #expect(try stores(keyring).open().value() == value)
        #expect(try keyring.bus.secretTool("lookup", "service", "example.com", "username", "ann").output == value)
    }

    @Test(arguments: ["save", "clear", "sync", "forget"]) func aLockThatAnotherProcessHoldsHoldsNobody(
        operation: String
    ) throws {
        let keyring = try PrivateKeyring()
        try stores(keyring).open().put("old")
        try stores(nil).open().put("pending")
        let store = try stores(keyring).open()
        let holder = try #require(LockHolder(vault.path + "/vault/lock"))
        let statuses = try cancelled([operation], store)
        #expect(statuses == [.cancelled])
        holder.release()
        #expect(try stores(keyring).open().value() == "pending")
        #expect(try stores(keyring).open().value() == "pending")
        #expect(run("save", store) == .ok)
    }

    /// A cancellation dismisses an unanswered prompt, and saves nothing. A clear is durable before it prompts.
    @Test(arguments: ["load", "save", "clear", "list"]) func aPromptHoldsNobody(operation: String) throws {
        try stores(nil, stack: "any required vault").open().put("x", "other")
        let bus = try PrivateBus()
        let fake = #filePath.replacingOccurrences(
            of: "TokenKeepEngine/CancellationTests.swift", with: "TokenKeepSecretService/Fakes/secret_service.py")
        let service = try ChildProcess(
            "/usr/bin/python3", [fake, #"{"locked": true, "prompt": "never"}"#], environment: bus.environment)
        #expect(try service.firstLine() == "ready")
        let store = try TestStore(bus, in: vault).open {
            $0.timeoutMilliseconds = Self.longest
            $0.isInteractive = true
        }
        let outcome = MutexGuarded<Status?>(nil)
        let thread = TestThread {
            let status = run(operation, store)
            outcome.withLock { $0 = status }
        }
        try wait { isTold("Prompt", bus) }
        #expect(outcome.withLock { $0 } == nil)
        let limit = Deadline.patient
        store.cancel()
        thread.join()
        #expect(!limit.hasPassed)
        #expect(outcome.withLock { $0 } == (operation == "clear" ? .ok : .cancelled))
        try wait { isTold("Dismiss", bus) }
        #expect(vault.names(in: "vault/current/records").count == (operation == "clear" ? 2 : 1))
    }

    /// Whether the fake service got a call of this name since the last question.
    private func isTold(_ member: String, _ bus: PrivateBus) -> Bool {
        let program = """
            import dbus
            print(dbus.SessionBus().call_blocking("org.freedesktop.secrets", "/fake", "org.tokenkeep.Fake", "Calls", "", []))
            """
        let calls = try? bus.python(program).output.split(whereSeparator: \.isWhitespace).map(String.init)
        return calls?.contains(member) ?? false
    }

    @Test func aCallThatWasCancelledBeforeItBeganTouchesNothing() throws {
        let store = try stores(nil).open()
        let cancellation = Cancellation(under: store.cancellation)
        cancellation.cancel()
        let deadline = store.deadline.cancelled(by: cancellation)
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try store.save(
                SaveRequest(name: ItemName(service: "s", account: "a"), secret: SecretBytes("x")), until: deadline)
        }
        #expect(vault.names().isEmpty)
        // The cancellation of one call does not cancel the store.
        try store.put("token")
    }

    @Test func whatStandsAboveCancelsToo() {
        let store = Cancellation()
        let call = Cancellation(under: store)
        let deadline = Deadline.patient.cancelled(by: call)
        #expect(!deadline.hasPassed)
        let woken = Atomic<Int>(0)
        call.waking(by: { woken.add(1, ordering: .relaxed) }) { store.cancel() }
        #expect(woken.load(ordering: .relaxed) == 1)
        #expect(deadline.hasPassed && deadline.isCancelled && deadline.remainingMilliseconds == 0)
        #expect(deadline.noLater(than: .passed).isCancelled)
        #expect(Deadline.passed.noLater(than: deadline).isCancelled == false)
    }
}
