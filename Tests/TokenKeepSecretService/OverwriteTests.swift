import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Our items after other programs wrote over them or beside them, on the real gnome-keyring.
@Suite struct OverwriteTests {
    private let keyring: PrivateKeyring
    private let client: ServiceClient

    init() throws {
        keyring = try PrivateKeyring()
        client = try ServiceClient(keyring.bus)
    }

    /// Writes as such programs do: exactly these attributes, in place of an item that has them.
    private func write(_ secret: String, _ attributes: [String: String]) throws {
        let program = """
            import sys, dbus
            name, interface = "org.freedesktop.secrets", "org.freedesktop.Secret."
            service = dbus.SessionBus().get_object(name, "/org/freedesktop/secrets")
            session = service.OpenSession("plain", "", dbus_interface=interface + "Service")[1]
            collection = dbus.SessionBus().get_object(name, "/org/freedesktop/secrets/aliases/default")
            pairs = dbus.Dictionary(dict(pair.split("=", 1) for pair in sys.argv[2:]), signature="ss")
            properties = {interface + "Item.Label": "theirs", interface + "Item.Attributes": pairs}
            value = dbus.ByteArray(sys.argv[1].encode())
            secret = dbus.Struct((session, dbus.ByteArray(b""), value, "text/plain"), signature="oayays")
            collection.CreateItem(dbus.Dictionary(properties, signature="sv"), secret, True,
                dbus_interface=interface + "Collection")
            """
        let pairs = attributes.map { "\($0.key)=\($0.value)" }
        let outcome = try ChildProcess.run(
            "/usr/bin/python3", ["-c", program, secret] + pairs, environment: keyring.bus.environment)
        try #require(outcome.status == 0)
    }

    /// Waits until a program's item counts as later than ours: times are whole seconds.
    private func waitForLaterSecond() throws {
        let saved = try #require(try client.item("example.com", "ann").details.modifiedAt)
        try waitUntil { UnixTime.now > saved }
    }

    private func lookup(_ attributes: String...) throws -> String { try lookup(attributes) }

    private func lookup(_ attributes: [String]) throws -> String {
        try ChildProcess.run("/usr/bin/secret-tool", ["lookup"] + attributes, environment: keyring.bus.environment)
            .output
    }

    /// Attributes as the programs write them, and whether ours stays beside the item. Where it is replaced,
    /// gnome-keyring leaves it our schema or the generic one, as it happens.
    static let writers: [(program: String, attributes: [String: String], isBeside: Bool)] = [
        ("secret-tool, go-keyring", ["service": "example.com", "username": "ann"], false),
        ("keyring-rs", ["service": "example.com", "username": "ann", "target": "default"], true),
        (
            "Python keyring",
            [
                "service": "example.com", "username": "ann", "application": "Python keyring library",
                "xdg:schema": "org.freedesktop.Secret.Generic",
            ], true
        ),
        (
            "the generic schema",
            ["service": "example.com", "username": "ann", "xdg:schema": "org.freedesktop.Secret.Generic"], false
        ),
    ]

    @Test(arguments: 0..<4) func whatIsWrittenOverOrBesideOursIsSeen(index: Int) throws {
        let writer = OverwriteTests.writers[index]
        for secret in ["ours", "our\nlines"] {
            try client.save("example.com", "ann", secret) {
                $0 = try SaveRequest(name: $0.name, secret: $0.secret, attributes: ItemAttributes([("scope", "all")]))
            }
            #expect(try client.load("example.com", "ann") == secret)
            try waitForLaterSecond()
            try write("theirs", writer.attributes)
            #expect(try client.load("example.com", "ann") == "theirs", "\(writer.program)")
            let isOurs = try lookup("xdg:schema", "org.tokenkeep.Item", "username", "ann") != ""
            #expect(isOurs || !writer.isBeside, "\(writer.program)")
            #expect(try client.list().map(\.name.account) == (isOurs ? ["ann"] : []), "\(writer.program)")
            let version = try client.save("example.com", "ann", "third") {
                $0 = try SaveRequest(name: $0.name, secret: $0.secret, attributes: ItemAttributes([("scope", "one")]))
            }
            let item = try client.item("example.com", "ann")
            #expect(item.secret.utf8String == "third" && item.details.version == version, "\(writer.program)")
            #expect(item.details.attributes["scope"] == "one", "\(writer.program)")
            if isOurs {
                #expect(try lookup("service", "example.com", "tokenkeep:namespace", "") == "third", "\(writer.program)")
            }
            let theirs = writer.attributes.flatMap { [$0.key, $0.value] }
            #expect(try lookup(theirs) == "third", "\(writer.program)")
        }
        #expect(try client.clear("example.com", "ann"))
        #expect(try lookup("service", "example.com", "username", "ann") == "", "\(writer.program)")
        #expect(try client.list().isEmpty)
    }

    @Test func secretToolOverOursIsLoadedAndCleared() throws {
        try client.save("example.com", "ann", "ours")
        let outcome = try ChildProcess.run(
            "/usr/bin/secret-tool", ["store", "--label", "L", "service", "example.com", "username", "ann"],
            environment: keyring.bus.environment, input: "theirs")
        try #require(outcome.status == 0)
        #expect(try client.load("example.com", "ann") == "theirs")
        #expect(try client.within("work").list().isEmpty)
        #expect(try client.clear("example.com", "ann"))
        #expect(try lookup("service", "example.com", "username", "ann") == "")
    }

    /// What gnome-keyring tells of, and what it does not: each is seen by who read the item a moment ago.
    @Test(arguments: ["attributes", "label", "secret", "delete", "twin"]) func whatOthersDoIsSeenAtOnce(what: String)
        throws
    {
        try client.save("example.com", "ann", "ours")
        for _ in 0..<2 { #expect(try client.load("example.com", "ann") == "ours") }
        let before = try client.item("example.com", "ann").details
        if what == "twin" { try waitForLaterSecond() }
        let program = """
            import sys, secretstorage
            bus = secretstorage.dbus_init()
            item, what = next(secretstorage.search_items(bus, {"service": "example.com"})), sys.argv[1]
            if what == "attributes": item.set_attributes({**item.get_attributes(), "tokenkeep:expires": "2000000000"})
            elif what == "label": item.set_label("Another label")
            elif what == "secret": item.set_secret(b"theirs")
            elif what == "delete": item.delete()
            else: secretstorage.get_default_collection(bus).create_item(
                "theirs", {"service": "example.com", "username": "ann", "target": "x"}, b"theirs")
            """
        try #require(try keyring.bus.python(program, what).status == 0)
        var after: TokenItem?
        let outcome = status { after = try client.item("example.com", "ann") }
        switch what {
        case "attributes": #expect(after?.details.expiresAt == UnixTime(2_000_000_000))
        case "label": #expect(after?.details.label == "Another label" && after?.details.version != before.version)
        case "delete": #expect(outcome == .notFound)
        default: #expect(after?.secret.utf8String == "theirs")
        }
        try client.save("example.com", "ann", "again")
        #expect(try ServiceClient(keyring.bus).load("example.com", "ann") == "again")
        #expect(try lookup("service", "example.com", "username", "ann") == "again")
    }

    @Test func otherNamespacesAreOutOfOthersReach() throws {
        let work = client.within("work")
        try work.save("example.com", "ann", "of work")
        #expect(try lookup("service", "example.com", "username", "ann") == "")
        try write("theirs", ["service": "example.com", "username": "ann"])
        #expect(try work.load("example.com", "ann") == "of work")
        #expect(try client.load("example.com", "ann") == "theirs")
        try work.save("example.com", "ann", "of work again")
        #expect(try work.load("example.com", "ann") == "of work again")
        #expect(try work.list("example.com").map(\.name.account) == ["ann"])
        #expect(try work.clear("example.com", "ann"))
        #expect(try client.load("example.com", "ann") == "theirs")
    }

    /// A program that changes the secret alone leaves the mark of the encoding.
    @Test(arguments: ["abcd1234", "tokenkeep-base64:", "plain"]) func plainTextOverEncodedIsPlain(text: String) throws {
        try client.save("example.com", "ann", "two\nlines")
        let program = """
            import sys, secretstorage
            for item in secretstorage.search_items(secretstorage.dbus_init(), {"service": "example.com"}):
                item.set_secret(sys.argv[1].encode())
            """
        try #require(try keyring.bus.python(program, text).status == 0)
        #expect(try client.load("example.com", "ann") == (text.hasSuffix(":") ? "" : text))
        try client.save("example.com", "ann", text)
        #expect(try client.load("example.com", "ann") == text)
    }

    @Test func anItemThatVanishedIsNoFailure() throws {
        try client.save("example.com", "ann", "ours")
        #expect(try client.load("example.com", "ann") == "ours")
        try #require(try keyring.bus.secretTool("clear", "service", "example.com").status == 0)
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        #expect(try !client.clear("example.com", "ann"))
        try client.save("example.com", "ann", "again")
        #expect(try client.load("example.com", "ann") == "again")
    }
}
