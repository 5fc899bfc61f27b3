import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Against the real gnome-keyring.
@Suite struct KeyringTests {
    @Test func savesLoadsAndClears() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        let version = try client.save("example.com", "ann", "token-1")
        #expect(version != 0)
        #expect(try client.load("example.com", "ann") == "token-1")
        #expect(try client.item("example.com", "ann").details.version == version)
        #expect(try client.save("example.com", "ann", "token-2") != version)
        #expect(try client.load("example.com", "ann") == "token-2")
        #expect(try client.list().map(\.name.account) == ["ann"])
        #expect(try client.clear("example.com", "ann"))
        #expect(try !client.clear("example.com", "ann"))
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        #expect(try client.list().isEmpty)
    }
}
