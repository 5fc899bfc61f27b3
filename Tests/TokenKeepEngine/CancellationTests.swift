import Foundation
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
    private static let longest: UInt32 = 60_000

    private func open(_ keyring: PrivateKeyring?, stack: String = ScriptedService.stack) throws -> Store {
        var configuration = StoreConfiguration(stackText: stack, timeoutMilliseconds: Self.longest)
        configuration.vaultPath = vault.path + "/vault"
        configuration.busAddress = keyring?.bus.address ?? "unix:path=/nonexistent/bus"
        return try Store(configuration)
    }

    private func save(_ store: Store, _ secret: String, _ account: String = "ann") throws {
        _ = try store.save(
            SaveRequest(name: ItemName(service: "example.com", account: account), secret: SecretBytes(secret)))
    }

    private func load(_ store: Store, _ account: String = "ann") throws -> String? {
        do {
            return try store.load(service: "example.com", account: account).secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func run(_ operation: String, _ store: Store) -> Status {
        do {
            switch operation {
            case "load": _ = try load(store)
            case "save": try save(store, "new")
            case "clear": try store.clear(service: "example.com", account: "ann")
            case "list": _ = try store.list()
            case "sync": _ = try store.pendingChanges.sync()
            case "migrate": _ = try store.transfer.migrate(from: "vault", to: "secret-service")
            case "forget": _ = try store.pendingChanges.forget(module: "secret-service")
            default: _ = try store.clear(service: "example.com")
            }
            return .ok
        } catch {
            return (error as? TokenKeepError)?.status ?? .internal
        }
    }

    /// Runs operations on threads, cancels them once all wait, and returns their statuses and duration.
    private func cancelled(_ operations: [String], _ store: Store) throws -> (statuses: [Status], duration: Duration) {
        let outcomes = MutexGuarded<[Status]>([])
        var threads: [Background] = []
        for operation in operations {
            threads.append(
                Background {
                    let status = run(operation, store)
                    outcomes.withLock { $0.append(status) }
                })
        }
        var busy = ContinuousClock.now
        try wait {
            if !threads.allSatisfy(\.isAsleep) { busy = .now }
            return ContinuousClock.now - busy > .milliseconds(30)  // all threads wait for another process
        }
        let start = ContinuousClock.now
        store.cancel()
        for thread in threads { thread.join() }
        return (outcomes.withLock { $0 }, ContinuousClock.now - start)
    }

    private func wait(_ condition: () -> Bool) throws {
        guard Patience.wait(until: condition) else { throw HarnessFailure(message: "it did not happen") }
    }

    @Test(arguments: ["load", "save", "clear", "list", "migrate"], [true, false])
    func aFrozenServiceHoldsNobody(operation: String, isConnected: Bool) throws {
        let keyring = try PrivateKeyring()
        try save(open(keyring), "old")
        if operation == "migrate" { try save(open(nil, stack: "any required vault"), "x", "moving") }
        let store = try open(keyring)
        if isConnected { _ = try load(store) }
        keyring.freeze(true)
        let (statuses, duration) = try cancelled([operation], store)
        #expect(statuses == [.cancelled])
        #expect(duration < Patience.limit, "\(duration)")
        keyring.freeze(false)
        // A save over a known item sends the value at once. No other operation has sent a change.
        try expectWhole(keyring, store, mayBeNew: operation == "save" && isConnected)
        try save(store, "newer")
        #expect(try load(open(keyring)) == "newer")
    }

    /// A cancellation ends every call in flight on many threads, and no later call.
    @Test func everyCallInFlightEnds() throws {
        let keyring = try PrivateKeyring()
        try save(open(keyring), "old")
        let store = try open(keyring)
        _ = try load(store)
        keyring.freeze(true)
        let calls = ["load", "save", "clear", "list", "load", "save", "clear service", "list"]
        let (statuses, duration) = try cancelled(calls, store)
        #expect(statuses == Array(repeating: .cancelled, count: calls.count))
        #expect(duration < Patience.limit, "\(duration)")
        keyring.freeze(false)
        try expectWhole(keyring, store, mayBeNew: true)
    }

    /// Checks that a cancelled call left the old or the new value, which every store then sees, and keeps.
    private func expectWhole(_ keyring: PrivateKeyring, _ store: Store, mayBeNew: Bool) throws {
        let value = try load(store)
        #expect(value == "old" || mayBeNew && value == "new")
        #expect(try load(open(keyring)) == value)
        #expect(try store.pendingChanges.sync().left == 0)
        #expect(try load(open(keyring)) == value)
        #expect(try keyring.bus.secretTool("lookup", "service", "example.com", "username", "ann").output == value)
    }

    @Test(arguments: ["save", "clear", "sync", "forget"]) func aLockThatAnotherProcessHoldsHoldsNobody(
        operation: String
    ) throws {
        let keyring = try PrivateKeyring()
        try save(open(keyring), "old")
        try save(open(nil), "owed")
        let store = try open(keyring)
        let holder = try #require(LockHolder(vault.path + "/vault/lock"))
        let (statuses, duration) = try cancelled([operation], store)
        #expect(statuses == [.cancelled])
        #expect(duration < Patience.limit, "\(duration)")
        holder.release()
        #expect(try load(open(keyring)) == "owed")
        #expect(try load(open(keyring)) == "owed")
        #expect(run("save", store) == .ok)
    }

    /// A cancellation dismisses an unanswered prompt, and saves nothing. A clear is durable before it prompts.
    @Test(arguments: ["load", "save", "clear", "list"]) func aPromptHoldsNobody(operation: String) throws {
        try save(open(nil, stack: "any required vault"), "x", "other")
        let bus = try PrivateBus()
        let fake = #filePath.replacingOccurrences(
            of: "TokenKeepEngine/CancellationTests.swift", with: "TokenKeepSecretService/Fakes/secret_service.py")
        let service = try ChildProcess(
            "/usr/bin/python3", [fake, #"{"locked": true, "prompt": "never"}"#], environment: bus.environment)
        #expect(try service.firstLine() == "ready")
        var configuration = StoreConfiguration(
            stackText: ScriptedService.stack, timeoutMilliseconds: Self.longest, isInteractive: true)
        configuration.vaultPath = vault.path + "/vault"
        configuration.busAddress = bus.address
        let store = try Store(configuration)
        let outcome = MutexGuarded<Status?>(nil)
        let thread = Background {
            let status = run(operation, store)
            outcome.withLock { $0 = status }
        }
        try wait { isTold("Prompt", bus) }
        #expect(outcome.withLock { $0 } == nil)
        let start = ContinuousClock.now
        store.cancel()
        thread.join()
        #expect(ContinuousClock.now - start < Patience.limit)
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
        let store = try open(nil)
        let cancellation = Cancellation(under: store.cancellation)
        cancellation.cancel()
        let deadline = store.deadline.cancelled(by: cancellation)
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try store.save(
                SaveRequest(name: ItemName(service: "s", account: "a"), secret: SecretBytes("x")), until: deadline)
        }
        #expect(vault.names().isEmpty)
        // The cancellation of one call does not cancel the store.
        try save(store, "token")
    }

    @Test func whatStandsAboveCancelsToo() {
        let store = Cancellation()
        let call = Cancellation(under: store)
        let deadline = Deadline(milliseconds: 60_000, cancellation: call)
        #expect(!deadline.hasPassed)
        let woken = Atomic<Int>(0)
        call.waking(by: { woken.add(1, ordering: .relaxed) }) { store.cancel() }
        #expect(woken.load(ordering: .relaxed) == 1)
        #expect(deadline.hasPassed && deadline.isCancelled && deadline.remainingMilliseconds == 0)
        #expect(deadline.noLater(than: Deadline(milliseconds: 1)).isCancelled)
        #expect(Deadline(milliseconds: 1).noLater(than: deadline).isCancelled == false)
    }
}

/// A thread that runs a closure.
final class Background: @unchecked Sendable {
    private var thread = pthread_t()
    private let body: @Sendable () -> Void
    private let folder = MutexGuarded<String?>(nil)

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let thread = Unmanaged<Background>.fromOpaque(argument).takeRetainedValue()
                let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
                thread.folder.withLock { $0 = own.map { "/proc/\($0)/stat" } }
                thread.body()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
    }

    /// Whether the thread runs and is waiting.
    var isAsleep: Bool {
        guard let path = folder.withLock({ $0 }), let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { return false }
        return text.split(separator: ")").last?.hasPrefix(" S") ?? false
    }

    func join() { pthread_join(thread, nil) }
}
