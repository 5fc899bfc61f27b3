import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys

@testable import TokenKeepEngine

/// Items that the vault seals for the example plugin `keyctl`.
@Suite struct SealedPluginTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let built: BuiltModule

    init() throws {
        built = try BuiltModule.keyctl()
        let stack = "any sufficient \(built.path) ring=\(UUID())\nany required vault"
        directory.write(Array(stack.utf8), to: "stack.d/default.conf")
    }

    private func open(_ vault: String) throws -> Store {
        var configuration = StoreConfiguration(timeoutMilliseconds: Patience.milliseconds)
        configuration.stackDirectories = .fixed(user: nil, system: directory.path + "/stack.d")
        configuration.vaultPath = directory.path + "/" + vault
        configuration.busAddress = "unix:path=" + directory.path + "/no-bus"
        configuration.residentKeys = ClassKeyStore(simulatingKernelAt: { 0 })
        return try Store(configuration)
    }

    private func request(
        _ secret: String, _ flags: ItemFlags = [], _ precondition: SaveRequest.Precondition = .none
    ) throws -> SaveRequest {
        try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes(secret),
            accessLevel: .afterFirstUnlock, flags: flags, precondition: precondition)
    }

    private func load(_ store: Store) throws -> String? {
        try store.load(service: "example.com", account: "ann").secret.utf8String
    }

    /// A program that knows the plugin, but not the vault, writes over the sealed item.
    @Test func aSaveReplacesAPlainItemInTheSealedOnesPlace() throws {
        let store = try open("vault")
        _ = try store.passwords.set(SecretBytes("horse"))
        #expect(try store.save(request("old", .requireEnforced)).module == "keyctl")
        #expect(try load(store) == "old")
        _ = try open("other").save(request("plain"))

        #expect(throws: TokenKeepError.self) { try load(store) }.map { #expect($0.status == .corrupt) }
        let onlyNew = try request("new", .requireEnforced, .absent)
        #expect(throws: TokenKeepError.self) { try store.save(onlyNew) }.map { #expect($0.status == .corrupt) }
        #expect(try load(open("other")) == "plain")

        #expect(try store.save(request("new", .requireEnforced)).pendingModules == [])
        #expect(try load(store) == "new")
        #expect(try store.clear(service: "example.com", account: "ann"))
    }
}
