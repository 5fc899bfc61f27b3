import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// A second implementation, in Python, finds and opens sealed items in a real keyring as docs/format.md specifies.
@Suite struct SealedFormatTests {
    private let world: SealingWorld

    init() throws { world = try SealingWorld() }

    /// The output of the second implementation, which also reads the vault's files.
    private func read(password: String = "horse") throws -> (output: String, status: Int32) {
        let vectors = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors")
        return try ChildProcess.run(
            "/usr/bin/python3", ["-B", vectors.path + "/read_sealed.py", world.directory.path + "/vault"],
            environment: world.keyring.bus.environment, input: password)
    }

    private func inNamespace(_ namespace: String) throws -> Store {
        try world.open { $0.namespace = namespace }
    }

    @Test func theSecondReaderReadsThem() throws {
        try world.save("plain", account: "plain")
        try world.save("one", level: .whenUnlocked)
        try world.save("", account: "bob", level: .afterFirstUnlock, flags: [.requireEnforced, .synchronizable])
        let password = world.password
        try world.save("each use", account: "eve", flags: .userPresence, in: world.openAsking { _ in password })
        _ = try inNamespace("team").save(
            SaveRequest(
                name: ItemName(namespace: "team", service: "café", account: ""),
                secret: SecretBytes(bytes: [0, 92, 255]),
                accessLevel: .whenUnlocked, label: "Ours", attributes: ItemAttributes([("b", "2"), ("a", "ü")]),
                expiresAt: UnixTime(2_000_000_000)))
        let expected = """
            ["", "example.com", "ann", 1, 0, "example.com (ann)", null, {}, "b25l"]
            ["", "example.com", "bob", 2, 5, "example.com (bob)", null, {}, ""]
            ["", "example.com", "eve", 2, 2, "example.com (eve)", null, {}, "ZWFjaCB1c2U="]
            ["team", "café", "", 1, 0, "Ours", "2000000000", {"a": "ü", "b": "2"}, "AFz/"]
            ["", "example.com", "ann", 1, 0, [["secret-service", "here", ["current"]]]]
            ["", "example.com", "bob", 2, 5, [["secret-service", "here", ["current"]]]]
            ["", "example.com", "eve", 2, 2, [["secret-service", "here", ["current"]]]]
            ["team", "café", "", 1, 0, [["secret-service", "here", ["current"]]]]

            """
        let before = try read()
        #expect(before.output == expected && before.status == 0)
        #expect(try read(password: "another").status == 1)
        // A change of keys re-encrypts the items, and the vault's notes then name only the new keys.
        _ = try world.store.passwords.change(from: password, to: SecretBytes("new"), isCompromised: true)
        let after = try read(password: "new")
        #expect(after.output == expected && after.status == 0)
        #expect(try world.clear("ann"))
        let cleared = expected.split(separator: "\n").filter { !$0.contains("\"ann\"") }
        #expect(try read(password: "new").output.split(separator: "\n") == cleared)
    }
}
