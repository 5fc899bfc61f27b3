import TestSupport
import Testing
import TokenKeep
import TokenKeepEngine

@Suite struct TokenStoreLevelsTests {
    private let directory = TemporaryDirectory()

    private func open(_ options: TokenStore.Options = TokenStore.Options(stackText: "any required vault")) throws
        -> TokenStore
    {
        try TokenStore(options, vaultPath: directory.path + "/vault")
    }

    private func setPassword() throws {
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = directory.path + "/vault"
        _ = try Store(configuration).setPassword(SecretBytes("horse"))
    }

    @Test func unlocksAndLocks() async throws {
        let store = try open()
        try await store.save("secret", service: "s", account: "a")
        await #expect(throws: TokenKeepError(.unsupported, "")) { try await store.lock() }
        try setPassword()
        try await store.lock()
        await #expect(throws: TokenKeepError(.locked, "")) { try await store.load(service: "s", account: "a") }
        await #expect(throws: TokenKeepError(.denied, "")) { try await store.unlock(password: SecretBytes("x")) }
        try await store.unlock(password: SecretBytes("horse"))
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "secret")
        let protection = try await store.protection(for: .afterFirstUnlock)
        #expect(protection[.diskTheft].strength == .enforced)
        try await store.lock()
    }

    @Test func asksByItsPrompt() async throws {
        let questions = MutexGuarded<[Prompt]>([])
        let store = try open(
            TokenStore.Options(stackText: "any required vault", isInteractive: true) { prompt throws(TokenKeepError) in
                questions.withLock { $0.append(prompt) }
                return try SecretBytes(prompt.attempt == 1 ? "wrong" : "horse")
            })
        try setPassword()
        var options = TokenStore.SaveOptions()
        options.flags = .userPresence
        try await store.save("secret", service: "s", account: "a", options: options)
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "secret")
        #expect(questions.withLock { $0.map(\.attempt) } == [1, 2, 1, 2])
        #expect(questions.withLock { $0.allSatisfy { $0.kind == .password && $0.item.account == "a" } })
        try await store.lock()
    }
}
