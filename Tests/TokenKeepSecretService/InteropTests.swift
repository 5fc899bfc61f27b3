import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Items of other programs, and ours in their hands, on the real gnome-keyring.
@Suite struct InteropTests {
    private let keyring: PrivateKeyring
    private let client: ServiceClient

    init() throws {
        keyring = try PrivateKeyring()
        client = try ServiceClient(keyring.bus)
    }

    /// Stores an item with `secret-tool`.
    private func store(_ secret: String, _ attributes: String..., label: String = "foreign") throws {
        let environment = keyring.bus.environment
        let outcome = try ChildProcess.run(
            "/usr/bin/secret-tool", ["store", "--label", label] + attributes, environment: environment, input: secret)
        try #require(outcome.status == 0)
    }

    private func lookup(_ attributes: String...) throws -> String {
        try ChildProcess.run("/usr/bin/secret-tool", ["lookup"] + attributes, environment: keyring.bus.environment)
            .output
    }

    @Test func secretToolFindsOurs() throws {
        try client.save("example.com", "ann", "token")
        #expect(try lookup("service", "example.com", "username", "ann") == "token")
        #expect(try lookup("xdg:schema", "org.tokenkeep.Item", "username", "ann") == "token")
    }

    @Test func secretToolsItemIsFoundUpdatedAndCleared() throws {
        try store("old", "service", "example.com", "username", "ann")
        #expect(try client.load("example.com", "ann") == "old")
        #expect(try client.item("example.com", "ann").details.label == "foreign")
        #expect(try client.list().isEmpty)
        let version = try client.save("example.com", "ann", "new")
        #expect(try client.item("example.com", "ann").details.version == version)
        #expect(try lookup("service", "example.com", "username", "ann") == "new")
        let all = try keyring.bus.secretTool("search", "--all", "service", "example.com").output
        #expect(all.components(separatedBy: "secret = ").count == 2, "updated in place")
        #expect(all.contains("label = foreign"), "the label stays the other program's")
        #expect(try client.list().map(\.name.account) == ["ann"], "what was saved over is listed")
        #expect(try client.clear("example.com", "ann"))
        #expect(try lookup("service", "example.com", "username", "ann") == "")
    }

    @Test func aForeignItemKeepsWhatASaveBrings() throws {
        try store("old", "service", "example.com", "username", "ann", "application", "Python keyring library")
        let request = try SaveRequest(
            name: client.name("example.com", "ann"), secret: SecretBytes("new"), accessLevel: .whenUnlocked,
            label: "Mine", attributes: ItemAttributes([("scope", "all")]), expiresAt: UnixTime(2_000_000_000))
        let version = try client.module.save(request, client.call())
        let details = try client.item("example.com", "ann").details
        #expect(details.version == version)
        #expect(details.label == "Mine" && details.accessLevel == .whenUnlocked)
        #expect(details.attributes["scope"] == "all" && details.expiresAt == UnixTime(2_000_000_000))
        #expect(try lookup("application", "Python keyring library", "username", "ann") == "new")
        #expect(try client.list().map(\.label) == ["Mine"])
        try client.save("example.com", "ann", "newer")
        #expect(try client.item("example.com", "ann").details.attributes == .none)
    }

    @Test func aForeignItemHoldsLinesEncodedAndItsTwinsStay() throws {
        try store("other", "service", "example.com", "username", "ann", "target", "default")
        try store("old", "service", "example.com", "username", "ann", "application", "app")
        try client.save("example.com", "ann", "two\nlines")
        #expect(try client.load("example.com", "ann") == "two\nlines")
        #expect(try client.list().count == 1)
        let all = try keyring.bus.secretTool("search", "--all", "service", "example.com").output
        #expect(all.components(separatedBy: "secret = ").count == 3, "none is deleted, none is made")
        try client.save("example.com", "ann", "one line")
        #expect(try client.load("example.com", "ann") == "one line")
        #expect(try client.clear("example.com", "ann"))
        #expect(try lookup("service", "example.com", "username", "ann") == "")
    }

    @Test func aSaveOverOursReachesForeignTwins() throws {
        try client.save("example.com", "ann", "ours")
        try store("theirs", "service", "example.com", "username", "ann", "target", "default")
        let fresh = try ServiceClient(keyring.bus)
        let version = try fresh.save("example.com", "ann", "ours again") {
            $0 = try SaveRequest(name: $0.name, secret: SecretBytes("ours again"), expiresAt: UnixTime(2_000_000_000))
        }
        #expect(try lookup("target", "default") == "ours again", "one value for everybody")
        #expect(try fresh.item("example.com", "ann").details.version == version)
        #expect(try fresh.list().first?.expiresAt == UnixTime(2_000_000_000))
        #expect(try fresh.clear("example.com", "ann"))
        #expect(try lookup("service", "example.com", "username", "ann") == "", "a cleared token does not rise again")
    }

    @Test func othersInOtherNamespacesDoNotExist() throws {
        try store("theirs", "service", "example.com", "username", "ann")
        let other = client.within("work")
        #expect(status { _ = try other.load("example.com", "ann") } == .notFound)
        #expect(try !other.clear("example.com", "ann"))
        try other.save("example.com", "ann", "ours")
        #expect(try client.load("example.com", "ann") == "theirs")
    }

    /// What has one attribute more is something else: another program's item about another thing.
    @Test(arguments: ["port", "profile", "protocol", "tokenkeep:namespace"]) func supersetsAreNotForeign(extra: String)
        throws
    {
        try store("theirs", "service", "example.com", "username", "ann", extra, "8080")
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        try client.save("example.com", "ann", "ours")
        #expect(try client.clear("example.com", "ann"))
        #expect(try lookup(extra, "8080") == "theirs")
    }

    /// Attributes as the programs write them, and whether the item is one we answer with.
    static let shapes: [(program: String, attributes: [String], isFound: Bool)] = [
        ("go-keyring", ["service", "example.com", "username", "ann"], true),
        ("keyring-rs", ["service", "example.com", "username", "ann", "target", "default"], true),
        ("keyring-rs 1", ["service", "example.com", "username", "ann", "application", "rust-keyring"], true),
        ("keytar", ["service", "example.com", "account", "ann"], false),
        (
            "QtKeychain",
            ["xdg:schema", "org.qt.keychain", "server", "example.com", "user", "ann", "type", "plaintext"], false
        ),
        (
            "git", ["xdg:schema", "org.git.Password", "user", "ann", "protocol", "https", "server", "example.com"],
            false
        ),
        (
            "KeePassXC",
            [
                "service", "example.com", "username", "ann", "Title", "a title", "UserName", "ann", "URL", "", "Notes",
                "",
            ], true
        ),
        ("schema of another", ["xdg:schema", "org.other", "service", "example.com", "username", "ann"], false),
    ]

    @Test(arguments: 0..<8) func shapesOfOthers(index: Int) throws {
        let shape = InteropTests.shapes[index]
        let outcome = try ChildProcess.run(
            "/usr/bin/secret-tool", ["store", "--label", shape.program] + shape.attributes,
            environment: keyring.bus.environment, input: "theirs")
        try #require(outcome.status == 0)
        if shape.isFound {
            #expect(try client.load("example.com", "ann") == "theirs", "\(shape.program)")
            try client.save("example.com", "ann", "updated")
            let found = try ChildProcess.run(
                "/usr/bin/secret-tool", ["lookup"] + shape.attributes, environment: keyring.bus.environment)
            #expect(found.output == "updated", "\(shape.program) finds its item updated")
        } else {
            #expect(status { _ = try client.load("example.com", "ann") } == .notFound, "\(shape.program)")
            try client.save("example.com", "ann", "ours")
            #expect(try client.clear("example.com", "ann"))
            let found = try ChildProcess.run(
                "/usr/bin/secret-tool", ["lookup"] + shape.attributes, environment: keyring.bus.environment)
            #expect(found.output == "theirs", "\(shape.program) keeps its item")
        }
    }

    @Test func pythonKeyringAndWeShareItems() throws {
        let program = """
            import sys, keyring
            from keyring.backends.SecretService import Keyring
            backend = Keyring()
            if sys.argv[1] == "get": print(backend.get_password("example.com", sys.argv[2]), end="")
            else: backend.set_password("example.com", sys.argv[2], sys.argv[3])
            """
        try client.save("example.com", "ann", "ours")
        #expect(try keyring.bus.python(program, "get", "ann").output == "ours")
        #expect(try keyring.bus.python(program, "set", "bob", "theirs").status == 0)
        #expect(try client.load("example.com", "bob") == "theirs")
        try client.save("example.com", "bob", "updated")
        #expect(try keyring.bus.python(program, "get", "bob").output == "updated")
        #expect(try client.clear("example.com", "bob"))
        #expect(try keyring.bus.python(program, "get", "bob").output == "None")
    }
}
