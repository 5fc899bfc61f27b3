import TestSupport
import Testing
import TokenKeep

@Suite struct TokenStoreTests {
    private let directory = TemporaryDirectory()

    private func open(_ options: TokenStore.Options = .init()) throws -> TokenStore {
        try TokenStore(options, vaultPath: directory.path + "/vault")
    }

    @Test func savesLoadsAndClears() async throws {
        let store = try open()
        let version = try await store.save("token-1", service: "example.com", account: "ann")
        let item = try await store.load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "token-1")
        #expect(item.details.version == version)
        #expect(item.details.label == "example.com (ann)")
        #expect(try await store.clear(service: "example.com", account: "ann"))
        await #expect(throws: TokenKeepError(.notFound, "")) {
            try await store.load(service: "example.com", account: "ann")
        }
    }

    @Test func keepsWhatTheOptionsSay() async throws {
        let store = try open(.init(namespace: "team"))
        let options = TokenStore.SaveOptions(
            accessLevel: .whenUnlocked, flags: .synchronizable, label: "Work", attributes: ["b": "2", "a": "1"],
            expiresAt: UnixTime(2_000_000_000))
        try await store.save("x", service: "s", account: "a", options: options)
        let details = try #require(try await store.list().items.first)
        #expect(details.name.namespace == "team")
        #expect(details.accessLevel == .whenUnlocked)
        #expect(details.flags == .synchronizable)
        #expect(details.label == "Work")
        #expect(details.attributes["a"] == "1")
        #expect(details.attributes.pairs.map(\.name) == ["a", "b"])
        #expect(details.expiresAt == UnixTime(2_000_000_000))
        #expect(try await open().list().items.isEmpty)
    }

    @Test func comparesAndSwaps() async throws {
        let store = try open()
        let first = try await store.save("1", service: "s", account: "a", options: .init(precondition: .absent))
        await #expect(throws: TokenKeepError(.duplicate, "")) {
            try await store.save("2", service: "s", account: "a", options: .init(precondition: .absent))
        }
        let second = try await store.save(
            "2", service: "s", account: "a", options: .init(precondition: .version(first)))
        await #expect(throws: TokenKeepError(.conflict, "")) {
            try await store.save("3", service: "s", account: "a", options: .init(precondition: .version(first)))
        }
        await #expect(throws: TokenKeepError(.conflict, "")) {
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

    @Test(arguments: [
        (Duration.zero, true), (.seconds(-5), true), (.seconds(Int64.max), false), (.milliseconds(250), false),
    ])
    func takesAnyTimeout(timeout: Duration, isShort: Bool) async throws {
        let store = try open(.init(timeout: timeout))
        // A timeout of nothing is one millisecond, not the default: an item that nobody holds is saved all the same.
        try await store.save("x", service: "s", account: "a")
    }
}
