import TestSupport
import Testing
import TokenKeep
import TokenKeepCore
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
        _ = try Store(configuration).passwords.set(SecretBytes("horse"))
    }

    @Test func unlocksAndLocks() async throws {
        let store = try open()
        try await store.save("secret", service: "s", account: "a")
        await expect(.unsupported) { try await store.lock() }
        try setPassword()
        try await store.lock()
        await expect(.locked) { try await store.load(service: "s", account: "a") }
        await expect(.denied) { try await store.unlock(password: TokenStore.Secret("x")) }
        try await store.unlock(password: TokenStore.Secret("horse"))
        #expect(try await store.load(service: "s", account: "a").secret.utf8String == "secret")
        let protection = try await store.protection(for: .afterFirstUnlock)
        #expect(protection[.diskTheft].strength == .enforced)
        try await store.lock()
    }

    @Test func asksByItsPrompt() async throws {
        let questions = MutexGuarded<[TokenStore.Prompt]>([])
        let store = try open(
            TokenStore.Options(stackText: "any required vault", isInteractive: true) { prompt in
                questions.withLock { $0.append(prompt) }
                return try TokenStore.Secret(prompt.attempt == 1 ? "wrong" : "horse")
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

    private func openLocked(_ handler: @escaping TokenStore.PromptHandler) async throws -> TokenStore {
        try await open().save("secret", service: "s", account: "a")
        try setPassword()
        let store = try open(
            TokenStore.Options(stackText: "any required vault", isInteractive: true, prompt: handler))
        try await store.lock()
        return store
    }

    @Test func aDismissedPromptIsNoCancelledTask() async throws {
        let store = try await openLocked { _ in nil }
        await expect(.cancelled, "the prompt was dismissed") { try await store.load(service: "s", account: "a") }
    }

    @Test func theErrorOfAPromptHandlerIsTheErrorOfTheCall() async throws {
        let store = try await openLocked { _ in throw TokenKeep.TokenKeepError(.denied, "no password today") }
        await expect(.denied) { try await store.load(service: "s", account: "a") }
    }

    @Test func anErrorOfTheApplicationDismissesThePrompt() async throws {
        let store = try await openLocked { _ in throw CancellationError() }
        await expect(.cancelled) { try await store.load(service: "s", account: "a") }
    }
}
