import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TokenKeep

import struct TokenKeepCore.Deadline

@Suite struct TokenStoreTests {
    private let directory = TemporaryDirectory()

    private func open(_ options: TokenStore.Options = .init()) throws -> TokenStore {
        var options = options
        // Never the user's own keyring.
        options.stackText = options.stackText ?? "any required vault"
        return try TokenStore(options, vaultPath: directory.path + "/vault")
    }

    @Test func savesLoadsAndClears() async throws {
        let store = try open()
        let version = try await store.save("token-1", service: "example.com", account: "ann")
        let item = try await store.load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "token-1")
        #expect(item.details.version == version)
        #expect(item.details.label == "example.com (ann)")
        #expect(try await store.clear(service: "example.com", account: "ann"))
        await expect(.notFound) {
            try await store.load(service: "example.com", account: "ann")
        }
    }

    @Test func nothingIsPendingOnAMachineThatNeverHadAService() async throws {
        #expect(try await open().sync().left == 0)
        let both = "any sufficient secret-service\nany required vault"
        let store = try TokenStore(
            .init(stackText: both), vaultPath: directory.path + "/vault", busAddress: "unix:path=/nonexistent/bus")
        try await store.save("1", service: "s", account: "a")
        let outcome = try await store.sync()
        #expect(outcome.drained == 0)
        #expect(outcome.left == 0)
        #expect(outcome.pendingModules.isEmpty)
        #expect(try await store.load(service: "s", account: "a").details.module == "vault")
    }

    /// A task that is cancelled waits for no other process, and no service. `moments`: how often a thread yields before it
    /// cancels; the task is wherever it is by then.
    ///
    /// Each case has a keyring of its own: after a cancelled call a silent service counts as unavailable.
    @Test(arguments: [true, false], [0, 1, 100, 10_000])
    func aCancelledTaskEndsItsCall(isService: Bool, moments: Int) async throws {
        let keyring = isService ? try PrivateKeyring() : nil
        let stack = isService ? "any required secret-service timeout=600s" : "any required vault"
        let store = try TokenStore(
            .init(stackText: stack, timeout: .seconds(600)), vaultPath: directory.path + "/vault",
            busAddress: keyring?.bus.address)
        try await store.save("old", service: "s", account: "a")
        let other = try open()
        try await other.save("x", service: "s", account: "other")  // makes the vault
        let holder = isService ? nil : LockHolder(directory.path + "/vault/lock")
        keyring?.freeze(true)
        let end = Deadline(milliseconds: 300_000)
        let task = Task { try await store.save("new", service: "s", account: "a") }
        // Not by Task.yield(): beside other tests that lasts until D-Bus itself gives the call up.
        let canceller = TestThread {
            for _ in 0..<moments { sched_yield() }
            task.cancel()
        }
        let result = await task.result
        canceller.join()
        // Long before the store's timeout; how long other tests keep this one's task waiting cannot be told.
        #expect(!end.hasPassed)
        keyring?.freeze(false)
        holder?.release()
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "old")
        try await store.save("newer", service: "s", account: "a")
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "newer")
    }

    /// Every thread waits for another process: who has none yet need not wait for one to be cancelled.
    @Test func aTaskThatWaitsForAThreadIsCancelledAtOnce() async throws {
        let store = try TokenStore(
            .init(stackText: "any required vault", timeout: .seconds(600)), vaultPath: directory.path + "/vault")
        try await store.save("old", service: "s", account: "a")
        let holder = LockHolder(directory.path + "/vault/lock")
        let tasks = (0..<80).map { number in
            Task { try await store.save("new", service: "s", account: "\(number)") }
        }
        for _ in 0..<1000 { await Task.yield() }
        for task in tasks.reversed() {
            let end = Deadline(milliseconds: 300_000)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!end.hasPassed)
        }
        holder?.release()
        #expect(try await store.list().items.count == 1)
    }

    @Test func keepsWhatTheOptionsSay() async throws {
        let store = try open(.init(namespace: "team"))
        let options = TokenStore.SaveOptions(
            accessibility: .whenUnlocked, flags: .synchronizable, label: "Work", attributes: ["b": "2", "a": "1"],
            expiresAt: Date(timeIntervalSince1970: 2_000_000_000))
        try await store.save("x", service: "s", account: "a", options: options)
        let details = try #require(try await store.list().items.first)
        #expect(details.name.namespace == "team")
        #expect(details.accessibility == .whenUnlocked)
        #expect(details.flags == .synchronizable)
        #expect(details.label == "Work")
        #expect(details.attributes == ["a": "1", "b": "2"])
        #expect(details.expiresAt == Date(timeIntervalSince1970: 2_000_000_000))
        #expect(try await open().list().items.isEmpty)
    }

    @Test func comparesAndSwaps() async throws {
        let store = try open()
        let first = try await store.save("1", service: "s", account: "a", options: .init(precondition: .absent))
        await expect(.duplicate) {
            try await store.save("2", service: "s", account: "a", options: .init(precondition: .absent))
        }
        let second = try await store.save(
            "2", service: "s", account: "a", options: .init(precondition: .version(first)))
        await expect(.conflict) {
            try await store.save("3", service: "s", account: "a", options: .init(precondition: .version(first)))
        }
        await expect(.conflict) {
            try await store.clear(service: "s", account: "a", ifVersion: first)
        }
        try await store.clear(service: "s", account: "a", ifVersion: second)
    }

    @Test func clearsAService() async throws {
        let store = try open()
        for account in ["a", "b", "c"] { try await store.save(account, service: "s", account: account) }
        try await store.save("other", service: "t", account: "a")
        #expect(try await store.clear(service: "s") == 3)
        #expect(try await store.list().items.map(\.name.service) == ["t"])
    }

    /// More calls than threads, each of which waits for the disk: all end, and none loses its write.
    @Test func servesManyTasksAtOnce() async throws {
        let store = try open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { try await store.save("\(number)", service: "s", account: "\(number)") }
            }
            try await group.waitForAll()
        }
        for number in 0..<64 {
            #expect(try await store.load(service: "s", account: "\(number)").secret.utf8String == "\(number)")
        }
    }

    /// Whatever the number, a call with it ends, and one that nobody blocks succeeds.
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(60), .milliseconds(60_250)])
    func takesAnyTimeout(timeout: Duration) async throws {
        try await open(.init(timeout: timeout)).save("x", service: "s", account: "a")
    }

    /// A timeout of nothing is the shortest, not the default of five seconds, which the engine takes for 0.
    @Test func everyTimeoutHasItsMilliseconds() {
        func milliseconds(_ timeout: Duration?) -> UInt32 { TokenStore.Options(timeout: timeout).timeoutMilliseconds }
        #expect(milliseconds(nil) == 0)
        for shortest in [Duration.zero, .seconds(-5), .seconds(Int64.min), .nanoseconds(1)] {
            #expect(milliseconds(shortest) == 1)
        }
        #expect(milliseconds(.milliseconds(61_500)) == 61_500)
        #expect(milliseconds(.seconds(Int64.max)) == .max)
    }
}
