import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Locks, prompts, duplicates and missing collections, on a fake service.
@Suite struct CollectionTests {
    private func items(_ items: String...) -> String { #""items": {\#(items.joined(separator: ", "))}"# }

    @Test func anEmptySearchInALockedCollectionIsLocked() throws {
        let fake = try FakeService(#"{"locked": true}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .locked)
        #expect(status { try fake.client.save("example.com", "ann", "x") } == .locked)
        #expect(status { _ = try fake.client.clear("example.com", "ann") } == .locked)
        #expect(status { _ = try fake.client.list() } == .locked)
        #expect(try !fake.calls().contains("Prompt"))
    }

    @Test func aPromptThatIsAnsweredUnlocks() throws {
        let fake = try FakeService(#"{"locked": true, "prompt": "accept"}"#)
        try fake.client.save("example.com", "ann", "token", prompts: true)
        try fake.configure(#"{"locked": true}"#)
        #expect(try fake.client.load("example.com", "ann", prompts: true) == "token")
    }

    @Test func aPromptThatIsDismissedIsCancelled() throws {
        let fake = try FakeService(#"{"locked": true, "prompt": "dismiss"}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann", prompts: true) } == .cancelled)
        #expect(status { try fake.client.save("example.com", "ann", "x", prompts: true) } == .cancelled)
    }

    @Test func anItemThatIsLockedIsLocked() throws {
        let fake = try FakeService("{\(items(FakeService.item("1", FakeService.ours(), secret: "x", isLocked: true)))}")
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .locked)
        #expect(status { _ = try fake.client.clear("example.com", "ann") } == .locked)
        #expect(try fake.client.load("example.com", "ann", prompts: true) == "x")
    }

    @Test func aForeignItemDoesNotMaskALockedOne() throws {
        let foreign = ["service": "example.com", "username": "ann"]
        let fake = try FakeService(
            "{\(items(FakeService.item("1", FakeService.ours(), secret: "ours", isLocked: true), FakeService.item("2", foreign, secret: "theirs")))}"
        )
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .locked)
    }

    @Test func aMissingDefaultCollectionIsAnAbsence() throws {
        let fake = try FakeService(#"{"default": false}"#)
        for body in [
            { try fake.client.save("example.com", "ann", "x") }, { _ = try fake.client.load("example.com", "ann") },
        ] as [() throws -> Void] {
            do {
                try body()
                Issue.record("it went through")
            } catch let error as TokenKeepError {
                #expect(error.status == .unavailable && error.isAbsence)
            }
        }
    }

    @Test func aForeignItemNeedsNoDefaultCollection() throws {
        let foreign = ["service": "example.com", "username": "ann"]
        let fake = try FakeService(
            "{\"default\": false, \(items(FakeService.item("1", foreign, secret: "theirs")))}")
        #expect(try fake.client.load("example.com", "ann") == "theirs")
    }

    /// A call that is cancelled waits for no person: its prompt is dismissed.
    @Test(arguments: ["load", "save", "prepare"]) func aCancelledCallDismissesItsPrompt(operation: String) throws {
        let fake = try FakeService(#"{"locked": true, "prompt": "never"}"#)
        let cancellation = Cancellation()
        let call = CallContext(
            deadline: .patient.cancelled(by: cancellation), promptsAllowed: true)
        let outcome = MutexGuarded<Status?>(nil)
        let (client, name) = (fake.client, try fake.client.name("example.com", "ann"))
        let thread = Thread {
            let status = status {
                switch operation {
                case "load": _ = try client.module.load(name, call)
                case "save": _ = try client.module.save(SaveRequest(name: name, secret: SecretBytes("x")), call)
                default: try client.module.prepare(call)
                }
            }
            outcome.withLock { $0 = status }
        }
        thread.start()
        var calls: [String] = []
        try waitUntil {
            calls += (try? fake.calls()) ?? []
            return calls.contains("Prompt")
        }
        #expect(outcome.withLock { $0 } == nil)
        let patience = Deadline.patient
        cancellation.cancel()
        try waitUntil { outcome.withLock { $0 } != nil }
        #expect(!patience.hasPassed)
        #expect(outcome.withLock { $0 } == .cancelled)
        try waitUntil { (try? fake.calls())?.contains("Dismiss") ?? false }
        try fake.configure(#"{"prompt": "accept"}"#)
        #expect(status { _ = try client.load("example.com", "ann", prompts: true) } == .notFound, "no breaker")
    }

    @Test func theNewestOfDuplicatesAnswersAndASaveLeavesOne() throws {
        let fake = try FakeService(
            "{\(items(FakeService.item("1", FakeService.ours(), secret: "old", modified: 5), FakeService.item("2", FakeService.ours(), secret: "new", modified: 9), FakeService.item("3", FakeService.ours("example.com", "ann", namespace: "work"), secret: "work", modified: 20)))}"
        )
        #expect(try fake.client.load("example.com", "ann") == "new")
        #expect(try fake.client.list().count == 1)
        try fake.client.save("example.com", "ann", "newest")
        #expect(try fake.client.load("example.com", "ann") == "newest")
        #expect(try fake.client.within("work").load("example.com", "ann") == "work")
        #expect(try !fake.items().contains("\"old\""))
    }

    @Test func loadingRepairsNothing() throws {
        let both = items(
            FakeService.item("1", FakeService.ours(), secret: "a", modified: 5),
            FakeService.item("2", FakeService.ours(), secret: "b", modified: 5))
        let fake = try FakeService("{\(both)}")
        _ = try fake.client.load("example.com", "ann")
        #expect(try !fake.calls().contains("Delete"))
    }

    @Test func whatANameDoesNotSayIsDiscarded() throws {
        let fake = try FakeService(
            "{\(items(FakeService.item("1", FakeService.ours("example.com", "ann", namespace: "work"), secret: "x"), FakeService.item("2", ["service": "example.com", "username": "ann", "extra": "1"], secret: "y")))}"
        )
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .notFound)
        #expect(try !fake.client.clear("example.com", "ann"))
        #expect(try !fake.calls().contains("Delete"))
    }

    /// A path that was found once may hold something else by now.
    @Test func aCachedPathIsVerified() throws {
        let fake = try FakeService("{\(items(FakeService.item("1", FakeService.ours(), secret: "ann's")))}")
        #expect(try fake.client.load("example.com", "ann") == "ann's")
        #expect(try fake.client.load("example.com", "ann") == "ann's")
        let calls = try fake.calls()
        #expect(calls.suffix(3) == ["Get", "GetSecrets", "SearchItems"], "one round trip: \(calls)")
        try fake.configure(
            "{\(items(FakeService.item("1", FakeService.ours("example.com", "bob"), secret: "bob's"), FakeService.item("2", FakeService.ours(), secret: "moved")))}"
        )
        #expect(try fake.client.load("example.com", "ann") == "moved")
        try fake.configure("{\(items(FakeService.item("2", FakeService.ours("example.com", "bob"), secret: "bob's")))}")
        try fake.client.save("example.com", "ann", "again")
        #expect(try fake.client.load("example.com", "bob") == "bob's")
    }

    /// What was loaded a moment ago is recognised by secret and attributes; a change of either is seen at once.
    @Test func aChangeIsSeenAtOnce() throws {
        let fake = try FakeService("{\(items(FakeService.item("1", FakeService.ours(), secret: "one", modified: 5)))}")
        #expect(try fake.client.load("example.com", "ann") == "one")
        try fake.configure("{\(items(FakeService.item("1", FakeService.ours(), secret: "two", modified: 7)))}")
        let item = try fake.client.item("example.com", "ann")
        #expect(item.secret.utf8String == "two" && item.details.modifiedAt == UnixTime(7))
        let expiring = FakeService.ours("example.com", "ann", ["tokenkeep:expires": "99"])
        try fake.configure("{\(items(FakeService.item("1", expiring, secret: "two", modified: 9)))}")
        let changed = try fake.client.item("example.com", "ann").details
        #expect(changed.expiresAt == UnixTime(99) && changed.modifiedAt == UnixTime(9))
    }

    @Test func unchangedAttributesAreNotWritten() throws {
        let fake = try FakeService()
        try fake.client.save("example.com", "ann", "one")
        _ = try fake.calls()
        try fake.client.save("example.com", "ann", "two")
        #expect(try fake.calls() == ["GetAll", "SearchItems", "SetSecret"])
        try fake.client.save("example.com", "ann", "two") { request in
            request = try SaveRequest(name: request.name, secret: request.secret, expiresAt: UnixTime(2_000_000_000))
        }
        #expect(try fake.calls() == ["GetAll", "SearchItems", "SetSecret", "Set"])
    }

    /// Only of KeePassXC it is known that a prompt for a new item in an open collection shows nothing.
    @Test func aNewItemThatAsksIsLocked() throws {
        let fake = try FakeService(#"{"createPrompts": true}"#)
        #expect(status { try fake.client.save("example.com", "ann", "token") } == .locked)
        let calls = try fake.calls()
        #expect(calls.last == "Dismiss" && !calls.contains("Prompt"))
    }

    /// What is left of an item of ours that another program replaced.
    @Test func oursWithoutItsNamespaceIsOurs() throws {
        let left = ["xdg:schema": "org.tokenkeep.Item", "service": "example.com", "username": "ann"]
        let fake = try FakeService("{\(items(FakeService.item("1", left, secret: "theirs")))}")
        #expect(try fake.client.load("example.com", "ann") == "theirs")
        #expect(try fake.client.list().map(\.name.account) == ["ann"])
        #expect(try fake.client.list("example.com").count == 1)
        #expect(try fake.client.within("work").list().isEmpty)
        try fake.client.save("example.com", "ann", "ours")
        #expect(try fake.items().contains("tokenkeep:namespace"), "a save gives it back what it lost")
        #expect(try fake.client.clear("example.com", "ann"))
        #expect(try fake.items() == "{}")
    }

    /// Whatever another program made of the schema: nobody else writes our namespace's attribute.
    @Test(arguments: ["", "work"]) func oursWithAnotherSchemaIsOurs(namespace: String) throws {
        var attributes = FakeService.ours(namespace: namespace)
        for schema in ["org.freedesktop.Secret.Generic", nil] {
            attributes["xdg:schema"] = schema
            let fake = try FakeService("{\(items(FakeService.item("1", attributes, secret: "ours")))}")
            let client = fake.client.within(namespace)
            #expect(try client.list().map(\.name.account) == ["ann"])
            #expect(try client.list("example.com").count == 1 && client.list("example.org").isEmpty)
            #expect(try fake.client.within("other").list().isEmpty)
            #expect(try client.load("example.com", "ann") == "ours")
            try client.save("example.com", "ann", "again")
            #expect(
                try fake.items().components(separatedBy: "org.tokenkeep.Item").count == 2, "it has its schema again")
            #expect(try client.clear("example.com", "ann"))
            #expect(try fake.items() == "{}")
        }
    }

    @Test func anItemOfAnotherSchemaIsNotOurs() throws {
        let attributes = FakeService.ours().merging(["xdg:schema": "org.example.Own"]) { _, new in new }
        let fake = try FakeService("{\(items(FakeService.item("1", attributes, secret: "theirs")))}")
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .notFound)
        #expect(try fake.client.list().isEmpty)
        #expect(try !fake.client.clear("example.com", "ann"))
    }

    /// Two candidates cost no more round trips than one.
    @Test func theSecretsOfTwinsTravelTogether() throws {
        let both = items(
            FakeService.item("1", FakeService.ours(), secret: "ours", modified: 5),
            FakeService.item("2", ["service": "example.com", "username": "ann"], secret: "theirs", modified: 9))
        let fake = try FakeService("{\(both)}")
        #expect(try fake.client.load("example.com", "ann") == "theirs")
        let calls = try fake.calls()
        // The search waits for no session: this service opens one at the second attempt.
        #expect(calls == ["SearchItems", "OpenSession", "OpenSession", "GetAll", "GetAll", "GetSecrets"])
        try fake.configure(#"{"override": {"GetSecrets": {"do": "error", "name": "org.example.One"}}}"#)
        #expect(try fake.client.load("example.com", "ann") == "theirs", "one item's failure is not another's")
    }

    /// What a twin refuses is no failure of ours, which is written later and counts; a clear says what it could not do.
    @Test(arguments: [
        "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.Secret.Error.IsLocked", "org.example.Own",
    ]) func aTwinThatTakesNothingKeepsNoSaveBack(problem: String) throws {
        let both = items(
            FakeService.item("1", FakeService.ours(), secret: "ours", modified: 5),
            FakeService.item("2", ["service": "example.com", "username": "ann"], secret: "theirs", modified: 9))
        let fake = try FakeService("{\(both)}")
        let refusal = #"{"do": "error", "name": "\#(problem)", "path": "/2"}"#
        try fake.configure(#"{"override": {"SetSecret": \#(refusal), "Delete": \#(refusal)}}"#)
        let version = try fake.client.save("example.com", "ann", "new")
        #expect(try fake.client.load("example.com", "ann") == "new")
        #expect(try fake.client.item("example.com", "ann").details.version == version)
        #expect(try fake.items().contains("theirs"))
        #expect(status { _ = try fake.client.clear("example.com", "ann") } != .ok)
        try fake.configure(#"{"override": {}}"#)
        #expect(try fake.client.clear("example.com", "ann"))
        #expect(try fake.items() == "{}")
    }

    @Test func onATieTheHigherPathIsLater() throws {
        let both = items(
            FakeService.item("9", FakeService.ours(), secret: "nine"),
            FakeService.item("10", FakeService.ours(), secret: "ten"))
        let fake = try FakeService("{\(both)}")
        #expect(try fake.client.load("example.com", "ann") == "ten")
    }

    /// What another collection shows says nothing about the one that is locked.
    @Test func aLockedDefaultCollectionMayHideCopies() throws {
        let foreign = ["service": "example.com", "username": "ann"]
        let both = items(
            FakeService.item("1", foreign, secret: "theirs"),
            FakeService.item("2", FakeService.ours("example.com", "bob"), secret: "ours"))
        let isLocked = #""override": {"Get": {"do": "reply", "signature": "v", "values": [true]}, "#
        let unlock =
            #""Unlock": {"do": "reply", "signature": "aoo", "values": [[], "/org/freedesktop/secrets/prompt/p1"]}}"#
        let fake = try FakeService("{\(isLocked)\(unlock), \(both)}")
        let name = try fake.client.name("example.com", "ann")
        #expect(status { try fake.client.module.clearOwn(name, fake.client.call()) } == .locked)
        #expect(try fake.items().contains("theirs"), "what is another program's stays")
        #expect(status { _ = try fake.client.clear("example.com", "ann") } == .locked)
        #expect(try !fake.items().contains("theirs"), "what could be seen is gone")
        let listing = try fake.client.module.list(namespace: "", service: nil, fake.client.call())
        #expect(listing.items.map(\.name.account) == ["bob"] && listing.problem?.status == .locked)
    }

    @Test func aDeletionThatAsksIsLocked() throws {
        let fake = try FakeService(
            "{\"deletePrompts\": true, \(items(FakeService.item("1", FakeService.ours(), secret: "x")))}")
        #expect(status { _ = try fake.client.clear("example.com", "ann") } == .locked)
        #expect(try fake.calls().last == "Dismiss")
    }
}
