import Testing
import TestSupport
import TokenKeepCore
import TokenKeepStack

@Suite struct StoreTests {
    private let directory = TemporaryDirectory()

    private func open(_ stack: String? = nil, namespace: String = "") throws -> Store {
        var configuration = StoreConfiguration(stackText: stack, namespace: namespace)
        configuration.vaultPath = directory.path + "/vault"
        return try Store(configuration)
    }

    private func save(
        _ store: Store, _ account: String, _ secret: String, service: String = "example.com",
        level: AccessLevel? = nil, precondition: SaveRequest.Precondition = .none
    ) throws -> UInt64 {
        try store.save(
            SaveRequest(
                name: ItemName(namespace: store.namespace, service: service, account: account),
                secret: SecretBytes(secret), accessLevel: level, precondition: precondition))
    }

    @Test(arguments: ["any required vault", "any required memory"])
    func savesLoadsAndClears(stack: String) throws {
        let store = try open(stack)
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        let version = try save(store, "ann", "token-1")
        let item = try store.load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "token-1")
        #expect(item.details.version == version)
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        #expect(try !store.clear(service: "example.com", account: "ann"))
    }

    @Test func loadingMakesNoVault() throws {
        let store = try open()
        _ = try? store.load(service: "s", account: "a")
        _ = try store.list()
        try store.clear(service: "s", account: "a")
        #expect(directory.names() == [])
    }
}
