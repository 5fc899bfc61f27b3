import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Items in the session collection, which ends with the login.
@Suite struct SessionCollectionTests {
    private static let theirs = ["service": "example.com", "username": "ann"]

    private func fake(_ items: String..., more: String = "\"session\": true") throws -> FakeService {
        try FakeService("{\(more), \"items\": {\(items.joined(separator: ", "))}}")
    }

    private func fleeting(_ attributes: [String: String], _ secret: String, modified: Int = 1) -> String {
        FakeService.item("1", attributes, secret: secret, modified: modified)
            .replacingOccurrences(of: "/collection/c/", with: "/collection/session/")
    }

    /// The secrets of a collection, by the ends of the items' paths.
    private func secrets(_ fake: FakeService, in collection: String) throws -> [String] {
        let items = try #require(
            JSONSerialization.jsonObject(with: Data(fake.items().utf8)) as? [String: [String: Any]])
        return items.filter { $0.key.contains("/collection/\(collection)/") }.compactMap {
            $0.value["secret"] as? String
        }
    }

    @Test func aSaveBesideAnItemThatDoesNotLastMakesALastingItem() throws {
        let fake = try fake(fleeting(Self.theirs, "theirs"))
        #expect(try fake.client.load("example.com", "ann") == "theirs")
        try fake.client.save("example.com", "ann", "mine")
        #expect(try secrets(fake, in: "c") == ["mine"])
        #expect(try secrets(fake, in: "session") == ["theirs"])
        #expect(try fake.client.load("example.com", "ann") == "mine")
        #expect(try fake.client.clear("example.com", "ann"))
        #expect(try fake.items() == "{}")
    }

    @Test func aSaveAdoptsTheLastingItemOfTwo() throws {
        let lasting = FakeService.item("2", Self.theirs, secret: "old", modified: 4)
        let fake = try fake(lasting, fleeting(Self.theirs, "temporary", modified: 5))
        try fake.client.save("example.com", "ann", "mine")
        #expect(try secrets(fake, in: "c") == ["mine"])
        #expect(try secrets(fake, in: "session") == ["temporary"])
        #expect(try fake.client.load("example.com", "ann") == "mine")
    }

    /// An earlier version saved there. The copy would answer loads if it were as new as the lasting item.
    @Test(arguments: [true, false]) func aSaveReplacesOurItemThatDoesNotLast(isCached: Bool) throws {
        let ours = FakeService.ours("example.com", "ann", ["tokenkeep:access": "when-unlocked"])
        let fake = try fake(fleeting(ours, "old"), more: "\"session\": true, \"signals\": true")
        if isCached { #expect(try fake.client.load("example.com", "ann") == "old") }
        let request = try SaveRequest(name: fake.client.name("example.com", "ann"), secret: SecretBytes("new"))
        #expect(try fake.client.module.saveAtOnce(request, fake.client.call()) == nil)
        #expect(try secrets(fake, in: "session") == ["old"])
        try fake.client.save("example.com", "ann", "new")
        #expect(try secrets(fake, in: "c") == ["new"])
        #expect(try secrets(fake, in: "session") == [])
        #expect(try fake.client.item("example.com", "ann").details.accessLevel == .whenUnlocked)
    }

    @Test func aLastingCollectionOfThisNameIsLikeOthers() throws {
        let fake = try fake(fleeting(Self.theirs, "theirs"), more: "\"session\": false")
        try fake.client.save("example.com", "ann", "mine")
        #expect(try secrets(fake, in: "session") == ["mine"])
    }

    @Test func aDefaultCollectionThatDoesNotLastTakesNothing() throws {
        let fake = try FakeService(#"{"session": true, "fleeting": true}"#)
        do {
            try fake.client.save("example.com", "ann", "mine")
            Issue.record("it went through")
        } catch let error as TokenKeepError {
            #expect(error.status == .unavailable && error.isAbsence && error.changedNothing)
            #expect(
                error.message
                    == "the default keyring of the Secret Service is its session keyring, which ends with the login")
            #expect(error.hint == "make a keyring in the keyring's own program, and make it the default")
        }
        #expect(try fake.items() == "{}")
    }

    @Test func aSaveInARealKeyringOutlivesTheLogin() throws {
        let keyring = try PrivateKeyring()
        _ = try keyring.bus.secretTool(
            "store", "--collection=session", "--label=x", "service", "example.com", "username", "ann", input: "theirs")
        let client = try ServiceClient(keyring.bus)
        #expect(try client.load("example.com", "ann") == "theirs")
        try client.save("example.com", "ann", "mine")
        try keyring.restart()
        #expect(try client.load("example.com", "ann") == "mine")
    }

    @Test func aProgramWithoutEnvironmentFindsTheUsersBus() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let own = directory.path + "/\(getuid())"
            for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] { unsetenv(name) }
            func found() -> String? { try? BusAddress.find(below: directory.path) }
            #expect(found() == nil)
            mkdir(own, 0o700)
            #expect(found() == nil)
            let socket = try #require(UnixSocket.listen(at: own + "/bus"))
            #expect(found() == "unix:path=\(BusAddress.escaped(own))/bus")
            chmod(own, 0o755)
            #expect(found() == nil, "others may look into the directory")
            chmod(own, 0o700)
            rename(own, directory.path + "/elsewhere")
            symlink(directory.path + "/elsewhere", own)
            #expect(found() == nil, "a link")
            close(socket)
        }
    }
}
