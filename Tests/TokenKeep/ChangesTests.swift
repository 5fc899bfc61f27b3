import TestSupport
import Testing
import TokenKeep

import struct TokenKeepCore.Deadline

@Suite struct ChangesTests {
    private let directory = TemporaryDirectory()

    private func open(_ namespace: String = "") throws -> TokenStore {
        try TokenStore(
            .init(stackText: "any required vault", namespace: namespace), vaultPath: directory.path + "/vault")
    }

    @Test(.timeLimit(.minutes(20))) func tellsWhatChanges() async throws {
        let store = try open("team")
        var changes = try open("team").changes.makeAsyncIterator()
        #expect(try await changes.next() == .listAgain)
        try await store.save("1", service: "example.com", account: "ann")
        let name = try TokenItem.Name(namespace: "team", service: "example.com", account: "ann")
        #expect(try await changes.next() == .saved(name))
        try await store.clear(service: "example.com", account: "ann")
        #expect(try await changes.next() == .cleared(name))
    }

    /// A change that comes while it is waited for.
    @Test(.timeLimit(.minutes(20))) func waitsForAChange() async throws {
        let store = try open()
        var changes = store.changes(of: "example.com").makeAsyncIterator()
        #expect(try await changes.next() == .listAgain)
        async let saved: Void = {
            for account in ["a", "b"] { try await store.save("1", service: "other.example", account: account) }
            try await store.save("1", service: "example.com", account: "ann")
        }()
        #expect(try await changes.next() == .saved(TokenItem.Name(service: "example.com", account: "ann")))
        try await saved
    }

    /// More waiting tasks than the cooperative pool has threads: it works on, and all end with their tasks.
    @Test(.timeLimit(.minutes(20))) func endsWhenCancelled() async throws {
        let store = try open()
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        let tasks = (0..<32).map { _ in
            Task {
                var count = 0
                for try await change in store.changes {
                    if change == .listAgain { isReady.yield() }
                    count += 1
                }
                return count
            }
        }
        var begun = 0
        for await _ in ready {
            begun += 1
            if begun == tasks.count { break }
        }
        try await store.save("1", service: "example.com", account: "ann")
        for task in tasks { task.cancel() }
        // Each has been told where it begins, and perhaps of the save.
        for task in tasks { #expect(1...2 ~= (try await task.value)) }
    }

    /// A reading that waits for a service ends with the task, long before its own time.
    @Test(.timeLimit(.minutes(20))) func endsSoonWhileAServiceHangs() async throws {
        let keyring = try PrivateKeyring()
        let store = try TokenStore(
            .init(
                stackText: "any sufficient secret-service timeout=1000s\nany required vault",
                timeout: .seconds(1100)),
            vaultPath: directory.path + "/vault", busAddress: keyring.bus.address)
        try await store.save("1", service: "example.com", account: "ann")
        keyring.freeze(true)
        defer { keyring.freeze(false) }
        for moments in [0, 1, 100, 10_000] {  // however far the reading is by then
            let task = Task {
                var changes = store.changes.makeAsyncIterator()
                return try await changes.next()
            }
            for _ in 0..<moments { await Task.yield() }
            let end = Deadline(milliseconds: 800_000)
            task.cancel()
            let change = try await task.value
            #expect(change == nil)
            #expect(!end.hasPassed)  // far less, but the tasks of a busy machine wait
        }
    }

    @Test func aCancelledTaskIsToldNothing() async throws {
        let store = try open()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var changes = store.changes.makeAsyncIterator()
            return (try await changes.next(), try await changes.next())
        }
        let (first, second) = try await task.value
        #expect(first == nil || first == .listAgain)
        #expect(second == nil)
    }

    @Test func saysWhyItCannotWatch() async throws {
        let changes = try open().changes(of: "")
        await expect(.invalid) {
            for try await _ in changes {}
        }
    }
}
