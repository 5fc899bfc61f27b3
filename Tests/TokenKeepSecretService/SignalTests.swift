import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A service that tells of items that are made or changed: what it did not tell of need not be read again.
@Suite struct SignalTests {
    private let fake: FakeService
    private var client: ServiceClient { fake.client }

    init() throws {
        fake = try FakeService(#"{"signals": true, "alias": "org.gnome.keyring"}"#)
        try client.save("example.com", "ann", "token")
        #expect(try client.load("example.com", "ann") == "token")
        _ = try fake.calls()
    }

    private func configure(_ more: String, _ items: String...) throws {
        try fake.configure("{\(more), \"items\": {\(items.joined(separator: ", "))}}")
    }

    private let told = #""signals": true"#
    private let untold = #""signals": false"#

    @Test func onlyWhatItNeedNotTellIsAsked() throws {
        #expect(try client.load("example.com", "ann") == "token")
        #expect(try fake.calls() == ["GetSecrets"])
        let version = try client.save("example.com", "ann", "new")
        let calls = try fake.calls()
        #expect(calls.suffix(2) == ["SetSecret", "Get"], "a secret that is set has another date")
        #expect(calls.count == 2 || calls == ["Get", "SetSecret", "Get"], "what it heard of a while ago is asked for")
        let saved = try client.item("example.com", "ann").details
        #expect(try fake.calls() == ["GetSecrets"])
        let fresh = try ServiceClient(fake.bus).item("example.com", "ann").details
        #expect(saved.modifiedAt == fresh.modifiedAt && saved.createdAt == fresh.createdAt)
        #expect(saved.label == fresh.label && saved.version == version)
    }

    @Test func whatItToldOfIsSeenAtOnce() throws {
        let expiring = FakeService.ours("example.com", "ann", ["tokenkeep:expires": "99"])
        try configure(told, FakeService.item("1001", expiring, secret: "token", modified: 9))
        let changed = try client.item("example.com", "ann").details
        #expect(changed.expiresAt == UnixTime(99) && changed.modifiedAt == UnixTime(9))
        #expect(try client.item("example.com", "ann").details.version == changed.version)
        let foreign = ["service": "example.com", "username": "ann"]
        try configure(
            told, FakeService.item("1001", expiring, secret: "token", modified: 9),
            FakeService.item("1002", foreign, secret: "theirs", modified: 10))
        #expect(try client.load("example.com", "ann") == "theirs")
        try client.save("example.com", "ann", "for both")
        #expect(try fake.items().components(separatedBy: "for both").count == 3)
    }

    @Test func aPathThatHoldsAnotherItemIsNotWrittenTo() throws {
        try configure(told, FakeService.item("1001", FakeService.ours("example.com", "bob"), secret: "bob's"))
        try client.save("example.com", "ann", "ann's")
        #expect(try client.load("example.com", "bob") == "bob's")
        #expect(try client.load("example.com", "ann") == "ann's")
    }

    /// What changed while the secret was on its way may have met another item: it is looked for, and saved again.
    @Test func aChangeOnTheWayIsFollowedByASearch() throws {
        try fake.configure(#"{"override": {"SetSecret": {"do": "tell"}}}"#)
        _ = try client.load("example.com", "ann")
        _ = try fake.calls()
        try client.save("example.com", "ann", "new")
        #expect(try fake.calls().contains("SearchItems"))
        #expect(try client.load("example.com", "ann") == "new")
    }

    @Test func aSecretThatIsSetIsSeenThoughItIsNotToldOf() throws {
        try configure(untold, FakeService.item("1001", FakeService.ours(), secret: "another", modified: 9))
        let item = try client.item("example.com", "ann")
        #expect(item.secret.utf8String == "another" && item.details.modifiedAt == UnixTime(9))
    }

    @Test func whatIsGoneOrLockedIsSeenThoughItIsNotToldOf() throws {
        try configure(untold)
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        try fake.configure(#"{"signals": true}"#)
        try client.save("example.com", "ann", "again")
        #expect(try client.load("example.com", "ann") == "again")
        try configure(untold)
        try client.save("example.com", "ann", "made anew")
        #expect(try client.load("example.com", "ann") == "made anew")
        try fake.configure(#"{"locked": true}"#)
        #expect(status { _ = try client.load("example.com", "ann") } == .locked)
        #expect(status { try client.save("example.com", "ann", "x") } == .locked)
    }

    /// gnome-keyring also owns `org.gnome.keyring`, by which the module recognises it.
    @Test(arguments: ["org.gnome.keyring", "org.gnome.keyring.Other"]) func whoIsKnownToTellNeedNotBeHeardFirst(
        name: String
    ) throws {
        let item = FakeService.item("1", FakeService.ours(), secret: "token")
        let known = try FakeService(#"{"alias": "\#(name)", "items": {\#(item)}}"#)
        #expect(try known.client.load("example.com", "ann") == "token")
        _ = try known.calls()
        #expect(try known.client.load("example.com", "ann") == "token")
        let isKnown = name == "org.gnome.keyring"
        #expect(try known.calls() == (isKnown ? ["GetSecrets"] : ["Get", "GetSecrets", "SearchItems"]))
    }

    /// One that tells of new items need not tell of those that change.
    @Test func whoWasHeardToTellOfBothIsBelieved() throws {
        let other = try FakeService(#"{"signals": true}"#)
        try other.client.save("example.com", "ann", "token")
        #expect(try other.client.load("example.com", "ann") == "token")
        _ = try other.calls()
        #expect(try other.client.load("example.com", "ann") == "token")
        #expect(try other.calls() == ["Get", "GetSecrets", "SearchItems"])
        try other.client.save("example.com", "ann", "token") {
            $0 = try SaveRequest(name: $0.name, secret: $0.secret, expiresAt: UnixTime(99))
        }
        #expect(try other.client.load("example.com", "ann") == "token")
        _ = try other.calls()
        #expect(try other.client.load("example.com", "ann") == "token")
        #expect(try other.calls() == ["GetSecrets"])
    }

    /// A keyring that is opened shows items that nobody made or changed.
    @Test func aCollectionThatChangesCountsToo() throws {
        let foreign = ["service": "example.com", "username": "ann"]
        try configure(
            untold, FakeService.item("1001", FakeService.ours(), secret: "token", modified: 9),
            FakeService.item("1002", foreign, secret: "theirs", modified: 10))
        try fake.configure(#"{"tellsOf": "CollectionChanged"}"#)
        #expect(try client.load("example.com", "ann") == "theirs")
    }

    /// A daemon that asks again and again on a bus without a service gives the bus its rules once.
    @Test func theRulesAreGivenOnce() throws {
        let bus = try PrivateBus()
        let client = try ServiceClient(bus)
        for _ in 0..<3 { #expect(status { _ = try client.load("example.com", "ann") } == .unavailable) }
        let program = """
            import dbus
            bus = dbus.SessionBus()
            all = bus.call_blocking("org.freedesktop.DBus", "/org/freedesktop/DBus",
                "org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules", "", [])
            rules = [rule for rules in all.values() for rule in rules]
            print(sum("org.freedesktop.Secret.Collection" in rule for rule in rules), end="")
            """
        let outcome = try bus.python(program)
        #expect(outcome.status == 0 && outcome.output == "1")
    }

    /// What somebody else on the bus tells is nothing that the service told.
    @Test func onlyTheServiceIsBelieved() throws {
        let mute = try FakeService(#"{"items": {\#(FakeService.item("1", FakeService.ours(), secret: "token"))}}"#)
        #expect(try mute.client.load("example.com", "ann") == "token")
        let program = """
            import dbus, dbus.lowlevel, sys
            bus = dbus.SessionBus()
            names = [name for name in bus.list_names() if name.startswith(":")]
            for name in names:
                message = dbus.lowlevel.SignalMessage("/x", "org.freedesktop.Secret.Collection", "ItemChanged")
                message.append(dbus.ObjectPath("/x"), signature="o")
                message.set_destination(name)
                bus.send_message(message)
            bus.flush()
            """
        try #require(try mute.bus.python(program).status == 0)
        for _ in 0..<2 { #expect(try mute.client.load("example.com", "ann") == "token") }
        _ = try mute.calls()
        #expect(try mute.client.load("example.com", "ann") == "token")
        #expect(try mute.calls() == ["Get", "GetSecrets", "SearchItems"])
    }

    @Test func aConditionIsJudgedByWhatIsThere() throws {
        let version = try client.item("example.com", "ann").details.version
        #expect(status { try client.save("example.com", "ann", "x") { $0.precondition = .version(7) } } == .conflict)
        #expect(status { try client.save("example.com", "ann", "x") { $0.precondition = .absent } } == .duplicate)
        try client.save("example.com", "ann", "new") { $0.precondition = .version(version) }
        #expect(try client.load("example.com", "ann") == "new")
    }
}
