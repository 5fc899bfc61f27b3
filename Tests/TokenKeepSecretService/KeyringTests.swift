import Foundation
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

extension KeyringTests {
    @Test func keepsDetails() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        let request = try SaveRequest(
            name: client.name("example.com", ""), secret: SecretBytes("token"), accessLevel: .whenUnlocked,
            flags: .synchronizable, label: "A label",
            attributes: ItemAttributes([("scope", "read write"), ("empty", "")]),
            expiresAt: UnixTime(2_000_000_000))
        let version = try client.module.save(request, client.call())
        for details in [try client.item("example.com", "").details, try #require(try client.list().first)] {
            #expect(details.name == request.name)
            #expect(details.label == "A label")
            #expect(details.accessLevel == .whenUnlocked)
            #expect(details.flags == .synchronizable)
            #expect(details.attributes == request.attributes)
            #expect(details.expiresAt == UnixTime(2_000_000_000))
            #expect(details.module == "secret-service")
            #expect(details.createdAt != nil && details.modifiedAt != nil)
        }
        #expect(try client.item("example.com", "").details.version == version)
        try client.save("example.com", "", "other")
        let later = try client.item("example.com", "").details
        #expect(later.accessLevel == .whenUnlocked, "a save with defaults keeps the level")
        #expect(later.expiresAt == nil && later.attributes == .none && later.label == "example.com ()")
    }

    /// Two spellings of one letter are different bytes, and so different values.
    @Test func writesWhatDiffersInBytesAlone() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        for spelling in ["\u{E9}", "e\u{301}"] {
            let request = try SaveRequest(
                name: client.name("example.com", "ann"), secret: SecretBytes("token"), label: spelling,
                attributes: ItemAttributes([("note", spelling)]))
            let version = try client.module.save(request, client.call())
            let details = try client.item("example.com", "ann").details
            #expect(details.version == version)
            #expect(details.label.utf8.elementsEqual(spelling.utf8))
        }
        try client.save("example.com", "\u{E9}", "composed")
        #expect(status { _ = try client.load("example.com", "e\u{301}") } == .notFound)
    }

    @Test func checksPreconditions() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        let version = try client.save("example.com", "ann", "one") { $0.precondition = .absent }
        #expect(status { try client.save("example.com", "ann", "two") { $0.precondition = .absent } } == .duplicate)
        #expect(status { try client.save("example.com", "ann", "two") { $0.precondition = .version(7) } } == .conflict)
        #expect(status { _ = try client.clear("example.com", "ann", version: 7) } == .conflict)
        #expect(try client.load("example.com", "ann") == "one")
        let next = try client.save("example.com", "ann", "two") { $0.precondition = .version(version) }
        #expect(try client.clear("example.com", "ann", version: next))
        #expect(status { _ = try client.clear("example.com", "ann", version: next) } == .conflict)
    }

    /// What a keyring kept as lines of text would lose, or lose itself to.
    static let awkward: [[UInt8]] = [
        Array("line\nline".utf8), Array("\n".utf8), [0], [0xFF, 0xFE], Array(" leading".utf8), Array("trailing ".utf8),
        Array("back\\slash\\n\\s".utf8), Array("tab\there".utf8), [], Array("\u{85}".utf8), Array("[section]".utf8),
        Array("#no comment; a=b".utf8), Array("ünïcödé 🔑".utf8), Array("\r".utf8), Array("\\".utf8),
        Array("\u{FEFF}byte order mark".utf8), Array("\u{FEFF}two\nlines".utf8), Array("\u{FEFF}".utf8),
    ]

    @Test(arguments: [nil, "password"]) func keepsEveryByteOverRestart(password: String?) throws {
        let keyring = try PrivateKeyring(password: password)
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "bystander", "untouched")
        for (index, bytes) in KeyringTests.awkward.enumerated() {
            let request = try SaveRequest(
                name: client.name("example.com", "account \(index)"), secret: SecretBytes(bytes: bytes))
            _ = try client.module.save(request, client.call())
        }
        try keyring.restart()
        for (index, bytes) in KeyringTests.awkward.enumerated() {
            let item = try client.item("example.com", "account \(index)")
            #expect(try item.secret == SecretBytes(bytes: bytes), "value \(index)")
        }
        #expect(try client.load("example.com", "bystander") == "untouched")
        #expect(try client.list().count == KeyringTests.awkward.count + 1, "they are ours still")
    }

    @Test func keepsAwkwardNamesOverRestart() throws {
        let keyring = try PrivateKeyring(password: nil)
        let client = try ServiceClient(keyring.bus)
        let names = [" leading", "trailing ", "back\\slash", "a=b", "[x]", "", "ünï", "#x"]
        for name in names {
            let request = try SaveRequest(
                name: client.name("example.com", name), secret: SecretBytes("of \(name)"), label: name,
                attributes: ItemAttributes([("note", name)]))
            _ = try client.module.save(request, client.call())
        }
        try keyring.restart()
        for name in names {
            let item = try client.item("example.com", name)
            #expect(item.secret.utf8String == "of \(name)")
            #expect(item.details.attributes["note"] == name)
            #expect(item.details.label == name)
        }
    }

    @Test func changesEncodingWithoutACopyLeft() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        for secret in ["plain", "two\nlines", "three\nlines", "plain again"] {
            try client.save("example.com", "ann", secret)
            #expect(try client.load("example.com", "ann") == secret)
            let found = try keyring.bus.secretTool("search", "--all", "service", "example.com", "username", "ann")
            #expect(found.output.components(separatedBy: "secret = ").count == 2, "one item")
        }
        #expect(try keyring.bus.secretTool("lookup", "service", "example.com").output == "plain again")
    }

    @Test func holdsLargeSecrets() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        let secret = try SecretBytes(randomCount: Limits.secret)
        _ = try client.module.save(
            SaveRequest(name: client.name("example.com", "ann"), secret: secret), client.call())
        #expect(try client.item("example.com", "ann").secret == secret)
        try client.save("example.com", "ann", String(repeating: "x", count: Limits.secret))
        #expect(try client.load("example.com", "ann").utf8.count == Limits.secret)
    }

    @Test func namespacesAreApart() throws {
        let keyring = try PrivateKeyring()
        let common = try ServiceClient(keyring.bus)
        let (one, two) = (common.within("one"), common.within("two"))
        for client in [one, common, two] { try client.save("example.com", "ann", "of \(client.namespace)") }
        for client in [one, common, two] { try client.save("example.com", "ann", "again of \(client.namespace)") }
        for client in [one, common, two] {
            #expect(try client.load("example.com", "ann") == "again of \(client.namespace)")
            #expect(try client.list().count == 1)
        }
        #expect(try common.clear("example.com", "ann"))
        #expect(status { _ = try common.load("example.com", "ann") } == .notFound)
        #expect(try one.load("example.com", "ann") == "again of one")
        #expect(try one.clear("example.com", "ann"))
        #expect(try two.load("example.com", "ann") == "again of two")
        #expect(try one.list().isEmpty && common.list().isEmpty && two.list().count == 1)
    }

    @Test func lockedIsNotAbsent() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        try keyring.restart(unlocked: false)
        #expect(status { _ = try client.load("example.com", "ann") } == .locked)
        #expect(status { _ = try client.load("example.com", "nobody") } == .locked)
        #expect(status { try client.save("example.com", "ann", "other") } == .locked)
        #expect(status { try client.save("example.com", "nobody", "other") } == .locked)
        #expect(status { _ = try client.clear("example.com", "ann") } == .locked)
        #expect(status { _ = try client.list() } == .locked)
        #expect(client.module.report(client.call()).remarks == ["the default keyring is locked"])
        // The prompter cannot be started on this bus: that is no answer of the user's.
        #expect([.locked, .cancelled].contains(status { _ = try client.load("example.com", "ann", prompts: true) }))
    }

    @Test func followsTheServiceOverARestart() throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try client.save("example.com", "ann", "token")
        try keyring.restart()
        #expect(try client.load("example.com", "ann") == "token")
        try keyring.restart()
        try client.save("example.com", "ann", "other")
        #expect(try client.load("example.com", "ann") == "other")
        keyring.stop()
        let problem = client.module.report(client.call()).problem
        #expect(problem?.status == .unavailable)
        #expect(problem?.isAbsence == true)
    }

    @Test func worksFromManyThreads() async throws {
        let keyring = try PrivateKeyring()
        let client = try ServiceClient(keyring.bus)
        try await withThrowingTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<10 {
                        try client.save("example.com", "thread \(thread)", "token \(round)")
                        try client.save("example.com", "shared", "token \(thread)")
                        #expect(try client.load("example.com", "thread \(thread)") == "token \(round)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try client.list().count == 9)
        let found = try keyring.bus.secretTool("search", "--all", "username", "shared")
        #expect(found.output.components(separatedBy: "secret = ").count == 2, "no twin was made")
    }
}
