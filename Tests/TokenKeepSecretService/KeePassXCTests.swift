import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Against the real KeePassXC: another service, which adds attributes of its own and hides everything while locked.
@Suite(.enabled(if: PrivateKeePassXC.isInstalled, "keepassxc is not installed: apt-get install keepassxc"))
struct KeePassXCTests {
    @Test func savesLoadsListsAndClears() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        let version = try client.save("example.com", "ann", "token-1")
        #expect(try client.load("example.com", "ann") == "token-1")
        let details = try client.item("example.com", "ann").details
        #expect(details.version == version)
        #expect(details.label == "example.com (ann)")
        #expect(details.attributes == .none, "what KeePassXC adds is not the item's")
        #expect(try client.save("example.com", "ann", "token-2") != version)
        #expect(try client.load("example.com", "ann") == "token-2")
        #expect(try ServiceClient(keePassXC.bus).load("example.com", "ann") == "token-2", "without a known path")
        #expect(try client.list().map(\.name.account) == ["ann"])
        #expect(try client.list("example.com").count == 1)
        #expect(try client.list("example.org").isEmpty)
        #expect(try client.clear("example.com", "ann", prompts: true))
        #expect(try !client.clear("example.com", "ann", prompts: true))
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
        #expect(try client.list().isEmpty)
    }

    @Test func keepsDetails() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let request = try SaveRequest(
            name: client.name("example.com", ""), secret: SecretBytes("token"), accessLevel: .whenUnlocked,
            flags: .synchronizable, label: "A label",
            attributes: ItemAttributes([("scope", "read write"), ("empty", "")]),
            expiresAt: UnixTime(2_000_000_000))
        let version = try client.module.save(request, client.call())
        for details in [try client.item("example.com", "").details, try #require(try client.list().first)] {
            #expect(details.name == request.name && details.label == "A label")
            #expect(details.accessLevel == .whenUnlocked && details.flags == .synchronizable)
            #expect(details.attributes == request.attributes && details.expiresAt == UnixTime(2_000_000_000))
            #expect(details.createdAt != nil && details.modifiedAt != nil)
        }
        #expect(try client.item("example.com", "").details.version == version)
        // It never takes an attribute away, so the item is made anew, and it asks before it deletes the old one.
        #expect(status { try client.save("example.com", "", "other") } == .locked)
        #expect(try client.item("example.com", "").details.version == version, "nothing was touched")
        try client.save("example.com", "", "other", prompts: true)
        #expect(try client.list().count == 1)
        let later = try client.item("example.com", "").details
        #expect(later.accessLevel == .whenUnlocked && later.expiresAt == nil && later.attributes == .none)
        #expect(later.label == "example.com ()")
    }

    @Test func keepsEveryByteOverRestart() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        for (index, bytes) in KeyringTests.awkward.enumerated() {
            let request = try SaveRequest(
                name: client.name("example.com", "account \(index)"), secret: SecretBytes(bytes: bytes))
            _ = try client.module.save(request, client.call())
        }
        for isRestarted in [false, true] {
            if isRestarted { try keePassXC.restart() }
            for (index, bytes) in KeyringTests.awkward.enumerated() {
                let item = try client.item("example.com", "account \(index)")
                #expect(try item.secret == SecretBytes(bytes: bytes), "value \(index), restarted \(isRestarted)")
            }
        }
        #expect(try client.list().count == KeyringTests.awkward.count)
    }

    @Test func keepsAwkwardNames() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let names = [
            " leading", "trailing ", "back\\slash", "a=b", "[x]", "ünï", "#x", "a/b", "/a", "*", "a", "A", "%",
        ]
        for name in names {
            let request = try SaveRequest(
                name: client.name("example.com", name), secret: SecretBytes("of \(name)"), label: name,
                attributes: ItemAttributes([("note", name)]))
            _ = try client.module.save(request, client.call())
        }
        for reader in [client, try ServiceClient(keePassXC.bus)] {
            for name in names {
                let item = try reader.item("example.com", name)
                #expect(item.secret.utf8String == "of \(name)")
                #expect(item.details.attributes["note"] == name && item.details.label == name)
            }
        }
        for name in names { #expect(try client.clear("example.com", name, prompts: true), "\(name)") }
        #expect(try client.list().isEmpty)
    }

    /// It takes no text that means another entry's field, and says so by a dismissed prompt that nobody saw.
    @Test func whatItRefusesIsNotCancelled() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let outcome = status { try client.save("example.com", "{REF:P@T:x}", "token") }
        #expect([.io, .ok].contains(outcome), "an older version takes it")
        guard outcome == .io else { return }
        let text = errorText { try client.save("example.com", "{REF:P@T:x}", "token") }
        #expect(text == "the Secret Service did not do what was asked for example.com ({REF:P@T:x})")
    }

    @Test func changesEncodingWithoutACopyLeft() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        for secret in ["plain", "a\0NUL", "another\0NUL", "plain again"] {
            try client.save("example.com", "ann", secret, prompts: true)
            #expect(try client.load("example.com", "ann") == secret)
            #expect(try client.list().count == 1)
        }
        #expect(try keePassXC.bus.secretTool("lookup", "service", "example.com").output == "plain again")
    }

    /// An encoding would add an attribute, which KeePassXC never takes away without a prompt.
    @Test func linesAreReadByOtherPrograms() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let values = [
            "-----BEGIN KEY-----\nMC4CAQ==\n-----END KEY-----\n", "{\n\t\"path\": \"C:\\\\x\"\n}\n", " outer spaces ",
            "\n", "]]>\n&amp;<x/>", "back\\slash", "$5$ %s {",
        ]
        for (index, secret) in values.enumerated() {
            try client.save("example.com", "\(index)", "plain")
            try client.save("example.com", "\(index)", secret)
            #expect(try client.load("example.com", "\(index)") == secret)
        }
        try keePassXC.restart()
        for (index, secret) in values.enumerated() {
            #expect(try keePassXC.bus.secretTool("lookup", "username", "\(index)").output == secret)
            #expect(try client.load("example.com", "\(index)") == secret)
        }
        #expect(try client.list().count == values.count)
    }

    /// It refuses some of them, and may replace others.
    @Test func placeholdersAreKept() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        for (account, secret) in [("ann", "{REF:P@T:example.com (ann)}"), ("bob", "{USERNAME}\n{s:Path}")] {
            try client.save("example.com", account, secret)
            #expect(try client.load("example.com", account) == secret)
        }
        try keePassXC.restart()
        #expect(try client.load("example.com", "bob") == "{USERNAME}\n{s:Path}")
    }

    @Test func namespacesAreApart() throws {
        let keePassXC = try PrivateKeePassXC()
        let common = try ServiceClient(keePassXC.bus)
        let (one, two) = (common.within("one"), common.within("two"))
        for client in [one, common, two, one, common, two] {
            try client.save("example.com", "ann", "of \(client.namespace)")
        }
        for client in [one, common, two] {
            #expect(try client.load("example.com", "ann") == "of \(client.namespace)")
            #expect(try client.list().count == 1)
        }
        #expect(try common.clear("example.com", "ann", prompts: true))
        #expect(status { _ = try common.load("example.com", "ann") } == .notFound)
        #expect(try one.load("example.com", "ann") == "of one")
        #expect(try one.clear("example.com", "ann", prompts: true))
        #expect(try two.load("example.com", "ann") == "of two")
        #expect(try one.list().isEmpty && common.list().isEmpty && two.list().count == 1)
    }

    @Test func secretToolFindsOurs() throws {
        let keePassXC = try PrivateKeePassXC()
        try ServiceClient(keePassXC.bus).save("example.com", "ann", "token")
        let found = try keePassXC.bus.secretTool("lookup", "service", "example.com", "username", "ann")
        #expect(found.output == "token")
    }

    @Test func anotherProgramsItemIsFoundUpdatedAndCleared() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let stored = try keePassXC.bus.secretTool(
            "store", "--label", "foreign", "service", "example.com", "username", "ann", input: "old")
        try #require(stored.status == 0)
        #expect(try client.load("example.com", "ann") == "old")
        #expect(try client.item("example.com", "ann").details.label == "foreign")
        #expect(try client.list().isEmpty)
        #expect(status { _ = try client.within("work").load("example.com", "ann") } == .notFound)
        let version = try client.save("example.com", "ann", "new")
        #expect(try client.item("example.com", "ann").details.version == version)
        #expect(try client.list().map(\.name.account) == ["ann"])
        let all = try keePassXC.bus.secretTool("search", "--all", "service", "example.com").output
        #expect(all.contains("secret = new") && all.components(separatedBy: "secret = ").count == 2, "\(all)")
        #expect(try client.clear("example.com", "ann", prompts: true))
        #expect(try keePassXC.bus.secretTool("lookup", "service", "example.com").output == "")
    }
}

extension KeePassXCTests {
    /// It shows nothing while it is locked: not even that there is an item.
    @Test func lockedIsNotAbsent() throws {
        let keePassXC = try PrivateKeePassXC(unlocked: false)
        let client = try ServiceClient(keePassXC.bus)
        let patience = Deadline.patient
        expectLocked(client)
        #expect(!patience.hasPassed, "nobody is asked, so nobody is waited for")
        #expect(client.module.report(client.call()).remarks == ["the default keyring is locked"])
    }

    /// What was found is known by its path, which is gone while the database is locked.
    @Test func lockingHidesWhatWasFoundAndUnlockingShowsItAgain() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        try client.save("example.com", "ann", "token")
        try keePassXC.lock()
        expectLocked(client)
        try keePassXC.unlock()
        #expect(try client.load("example.com", "ann") == "token")
        #expect(try client.list().count == 1)
        #expect(status { _ = try client.load("example.com", "nobody") } == .notFound)
    }

    private func expectLocked(_ client: ServiceClient) {
        #expect(status { _ = try client.load("example.com", "ann") } == .locked)
        #expect(status { _ = try client.load("example.com", "nobody") } == .locked)
        #expect(status { try client.save("example.com", "ann", "other") } == .locked)
        #expect(status { try client.save("example.com", "nobody", "other") } == .locked)
        #expect(status { _ = try client.clear("example.com", "ann") } == .locked)
        #expect(status { _ = try client.list() } == .locked)
    }

    /// Every deletion is a prompt, and whether it shows something is in its settings: without leave it is not tried.
    @Test func aDeletionWithoutLeaveToAskIsLocked() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        try client.save("example.com", "ann", "token")
        #expect(status { _ = try client.clear("example.com", "ann") } == .locked)
        #expect(try client.load("example.com", "ann") == "token")
        #expect(try client.clear("example.com", "ann", prompts: true))
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
    }

    /// KeePassXC keeps deleted and earlier tokens in its history and its recycle bin (docs/desktop.md).
    @Test func whatWasDeletedOrReplacedStaysInItsFile() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        try client.save("example.com", "ann", "replaced-token")
        try client.save("example.com", "ann", "present-token")
        try client.save("example.com", "bob", "cleared-token")
        #expect(try client.clear("example.com", "bob", prompts: true))
        let content = try keePassXC.content()
        let history = content.components(separatedBy: "<History>").dropFirst().map {
            $0.components(separatedBy: "</History>")[0]
        }
        #expect(history.contains { $0.contains("replaced-token") }, "\(content)")
        let bin = content.components(separatedBy: "<Name>Recycle Bin</Name>")
        #expect(bin.count == 2 && bin[1].contains("cleared-token"), "\(content)")
        #expect(try client.load("example.com", "ann") == "present-token")
        #expect(status { _ = try client.load("example.com", "bob") } == .notFound, "the bin is not searched")
        #expect(try client.list().count == 1)
    }

    /// A conditional removal that it asks about is not done before it was asked.
    @Test func aConditionalDeletionAsks() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        let version = try client.save("example.com", "ann", "token")
        #expect(status { _ = try client.clear("example.com", "ann", version: version) } == .locked)
        #expect(status { _ = try client.clear("example.com", "ann", version: 7, prompts: true) } == .conflict)
        #expect(try client.clear("example.com", "ann", version: version, prompts: true))
        #expect(status { _ = try client.load("example.com", "ann") } == .notFound)
    }

    /// As it is installed it asks its user before a program may read or delete what it did not make itself.
    @Test func whatTheUserMustConfirmIsLocked() throws {
        let keePassXC = try PrivateKeePassXC(confirms: true)
        try ServiceClient(keePassXC.bus).save("example.com", "ann", "token")
        let other = try ServiceClient(keePassXC.bus)
        #expect(status { _ = try other.load("example.com", "ann") } == .locked)
        #expect(status { try other.save("example.com", "ann", "other") } == .locked)
        #expect(status { _ = try other.clear("example.com", "ann") } == .locked)
        #expect(status { _ = try other.load("example.com", "nobody") } == .notFound)
    }
}
