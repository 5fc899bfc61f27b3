import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// What a real service cannot be made to do.
@Suite struct MisbehaviourTests {
    static let ours = #"{"items": {\#(FakeService.item("1", FakeService.ours(), secret: "token"))}}"#

    @Test func aPlainSessionWorks() throws {
        let fake = try FakeService()
        try fake.client.save("example.com", "ann", "token")
        try fake.client.save("example.com", "ann", "token-2")
        #expect(try fake.client.load("example.com", "ann") == "token-2")
        #expect(try fake.client.clear("example.com", "ann"))
    }

    @Test(arguments: ["OpenSession", "SearchItems", "GetAll", "GetSecrets", "SetSecret"])
    func vanishingIsUnavailable(member: String) throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        try fake.configure(#"{"override": {"\#(member)": {"do": "exit"}}}"#)
        let outcome = status {
            if member == "SetSecret" {
                try fake.client.save("example.com", "ann", "new")
            } else {
                _ = try fake.client.load("example.com", "ann")
            }
        }
        #expect(outcome == .unavailable)
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.AccessDenied", Status.denied), ("org.freedesktop.Secret.Error.IsLocked", .locked),
        ("org.freedesktop.DBus.Error.Failed", .io), ("org.example.Own.Error", .io),
        ("org.freedesktop.DBus.Error.NoMemory", .io),
    ])
    func errorsAreTold(name: String, expected: Status) throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        for member in ["SearchItems", "GetSecrets"] {
            try fake.configure(#"{"override": {"\#(member)": {"do": "error", "name": "\#(name)"}}}"#)
            #expect(status { _ = try fake.client.load("example.com", "ann") } == expected, "\(member)")
        }
        try fake.configure(#"{"override": {"SetSecret": {"do": "error", "name": "\#(name)"}}}"#)
        #expect(status { try fake.client.save("example.com", "ann", "new") } == expected)
    }

    /// Only what says that the object is gone means that nothing is there.
    @Test(arguments: ["UnknownMethod", "UnknownInterface", "InvalidArgs"]) func aRefusalIsNoAbsence(name: String) throws
    {
        let fake = try FakeService(MisbehaviourTests.ours)
        let refusal = #"{"do": "error", "name": "org.freedesktop.DBus.Error.\#(name)"}"#
        for member in ["Delete", "GetAll"] {
            try fake.configure(#"{"override": {"\#(member)": \#(refusal)}}"#)
            #expect(status { _ = try fake.client.clear("example.com", "ann") } == .io, "\(member)")
        }
        try fake.configure(#"{"override": {"GetSecrets": \#(refusal), "GetSecret": \#(refusal)}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .io)
        try fake.configure(#"{"override": {"CreateItem": \#(refusal)}}"#)
        #expect(status { try fake.client.save("example.com", "bob", "new") } == .io)
        try fake.configure(#"{"override": {"Get": \#(refusal)}}"#)
        #expect(status { _ = try fake.client.load("example.com", "bob") } == .io)
        #expect(try fake.items().contains("\"token\""))
    }

    static let malformed: [(member: String, signature: String, values: String)] = [
        ("OpenSession", "s", #"["x"]"#), ("SearchItems", "s", #"["x"]"#), ("SearchItems", "as", #"[["x"]]"#),
        ("SearchItems", "aoao", #"[["/"], []]"#), ("SearchItems", "aoao", #"[[], ["/"]]"#),
        ("SearchItems", "", "[]"), ("GetAll", "s", #"["x"]"#), ("GetAll", "a{sv}", #"[{}]"#),
        ("GetAll", "a{sv}", #"[{"Attributes": "x", "Label": "x", "Locked": false}]"#),
        ("GetAll", "a{sv}", #"[{"Attributes": {"a": "b"}, "Label": 7, "Locked": false}]"#),
        ("GetSecrets", "s", #"["x"]"#),
        ("GetSecrets", "", "[]"), ("GetSecrets", "ay", "[[1, 2]]"),
        ("GetSecrets", "a{o(oayays)}", secret(of: "/another/session", parameters: "[]")),
        ("GetSecrets", "a{o(oayays)}", secret(of: "/org/freedesktop/secrets/session/s1", parameters: "[1]")),
    ]

    private static func secret(of session: String, parameters: String) -> String {
        #"[{"/org/freedesktop/secrets/collection/c/1": ["\#(session)", \#(parameters), [65], "text/plain"]}]"#
    }

    /// A copy at another path may be newer than the cached item.
    /// After a failed search for copies, another search decides.
    @Test(arguments: [
        #"{"do": "error", "name": "org.freedesktop.DBus.Error.Failed"}"#,
        #"{"do": "reply", "signature": "aoao", "values": [["/"], []]}"#,
    ])
    func aFailedSearchForCopiesDoesNotMeanThatThereAreNone(reply: String) throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        for _ in 0..<2 { #expect(try fake.client.load("example.com", "ann") == "token") }
        #expect(try fake.calls().suffix(3) == ["Get", "GetSecrets", "SearchItems"], "the item is cached")
        try fake.configure(#"{"override": {"SearchItems": \#(reply)}}"#)
        let outcome = status { _ = try fake.client.load("example.com", "ann") }
        #expect(outcome == .io || outcome == .corrupt)
    }

    /// An answer to GetSecrets leaves out what is locked or gone, and may leave out or add what it likes.
    @Test(arguments: ["{}", #"{"/elsewhere": ["/org/freedesktop/secrets/session/s1", [], [65], "text/plain"]}"#])
    func aSecretThatIsLeftOutIsAskedForAlone(secrets: String) throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        let reply = #""GetSecrets": {"do": "reply", "signature": "a{o(oayays)}", "values": [\#(secrets)]}"#
        try fake.configure(#"{"override": {\#(reply)}}"#)
        #expect(try fake.client.load("example.com", "ann") == "token")
        try fake.configure(
            #"{"override": {\#(reply), "GetSecret": {"do": "error", "name": "org.freedesktop.Secret.Error.IsLocked"}}}"#
        )
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .locked)
        try fake.configure(#"{"override": {\#(reply), "GetSecret": {"do": "reply", "signature": "", "values": []}}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .corrupt)
    }

    @Test(arguments: 0..<13) func malformedAnswersAreCorrupt(index: Int) throws {
        let (member, signature, values) = MisbehaviourTests.malformed[index]
        let fake = try FakeService(MisbehaviourTests.ours)
        try fake.configure(
            #"{"override": {"\#(member)": {"do": "reply", "signature": "\#(signature)", "values": \#(values)}}}"#)
        let outcome = status { _ = try fake.client.load("example.com", "ann") }
        #expect(outcome == (member == "OpenSession" ? .unavailable : .corrupt))
    }

    @Test func aSecretBeyondTheLimitIsCorrupt() throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        for (count, expected) in [(Limits.secret, Status.ok), (Limits.secret + 1, .corrupt), (8 << 20, .corrupt)] {
            try fake.configure(#"{"override": {"GetSecrets": {"do": "large", "count": \#(count)}}}"#)
            #expect(status { _ = try fake.client.load("example.com", "ann") } == expected, "\(count) bytes")
        }
    }

    /// What is wrong with a secret of an encrypted session, and whether that can be told from a right one.
    @Test(arguments: ["session", "parameters", "truncated", "padding", "empty"])
    func aDamagedEncryptedSecretIsCorrupt(damage: String) throws {
        let fake = try FakeService(MisbehaviourTests.encrypted)
        #expect(try fake.client.load("example.com", "ann") == "token")
        try fake.configure(#"{"damage": "\#(damage)"}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .corrupt)
        #expect(try fake.client.list().count == 1, "what is listed needs no secret")
        #expect(status { try fake.client.save("example.com", "ann", "new") } == .corrupt, "it cannot be read back")
        try fake.configure(#"{"damage": ""}"#)
        try fake.client.save("example.com", "ann", "new")
        #expect(try fake.client.load("example.com", "ann") == "new")
    }

    static let encrypted = ours.replacingOccurrences(of: #"{"items""#, with: #"{"encrypted": true, "items""#)

    /// Random blocks have a right end now and then: nothing authenticates them. They are never the token.
    @Test func garbageInAnEncryptedSessionEndsNothing() throws {
        let fake = try FakeService(MisbehaviourTests.encrypted)
        try fake.configure(#"{"damage": "garbage"}"#)
        for _ in 0..<50 {
            var loaded: SecretBytes?
            let outcome = status { loaded = try fake.client.item("example.com", "ann").secret }
            #expect(outcome == .corrupt || outcome == .ok && loaded?.utf8String != "token")
        }
    }

    @Test(arguments: [(Limits.secret, Status.ok), (Limits.secret + 1, .corrupt), (8 << 20, .corrupt)])
    func anEncryptedSecretBeyondTheLimitIsCorrupt(count: Int, expected: Status) throws {
        let fake = try FakeService(MisbehaviourTests.encrypted)
        try fake.configure(#"{"override": {"GetSecrets": {"do": "large", "count": \#(count)}}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == expected)
    }

    static let unreadable: [[String: String]] = [
        ["tokenkeep:encoding": "base64"], ["tokenkeep:encoding": "rot13"], ["tokenkeep:access": "whenever"],
        ["tokenkeep:expires": "soon"], ["tokenkeep:flags": "-1"], ["tokenkeep:a:UPPER": "x"], ["tokenkeep:a:": "x"],
    ]

    @Test(arguments: 0..<7) func whatCannotBeReadIsCorruptAndCanBeReplaced(index: Int) throws {
        let attributes = FakeService.ours("example.com", "ann", MisbehaviourTests.unreadable[index])
        let fake = try FakeService(
            #"{"items": {\#(FakeService.item("1", attributes, secret: "tokenkeep-base64:not base64!"))}}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann") } == .corrupt)
        try fake.client.save("example.com", "ann", "good")
        #expect(try fake.client.load("example.com", "ann") == "good")
        #expect(try fake.client.list().count == 1)
    }

    @Test func aListGoesOnPastWhatCannotBeRead() throws {
        let items = [
            FakeService.item("1", FakeService.ours(), secret: "x"),
            FakeService.item("2", FakeService.ours("example.com", "bob", ["tokenkeep:expires": "soon"]), secret: "x"),
            FakeService.item("3", FakeService.ours("example.com", "cat"), secret: "x", isLocked: true),
        ]
        let fake = try FakeService(#"{"items": {\#(items.joined(separator: ", "))}}"#)
        let listing = try fake.client.module.list(namespace: "", service: nil, fake.client.call())
        #expect(listing.items.map(\.name.account) == ["ann"])
        #expect(listing.problem != nil)
    }

    /// The name of an error is the service's own choice, and may be the secret.
    @Test(arguments: ["OpenSession", "CreateItem", "SearchItems"])
    func anErrorThatEchoesTheSecretIsNotQuoted(member: String) throws {
        let fake = try FakeService()
        try fake.configure(
            #"{"override": {"\#(member)": {"do": "error", "name": "com.example.s3cr3t_t0ken"}}}"#)
        do {
            try fake.client.save("example.com", "ann", "s3cr3t_t0ken")
            Issue.record("it saves")
        } catch let error as TokenKeepError {
            #expect(!error.description.contains("t0ken") && error.hint?.contains("t0ken") != true, "\(error)")
        }
    }

    /// An attribute that cannot be read is not quoted either.
    @Test(arguments: ["tokenkeep:a:S3CR3T", "tokenkeep:access"])
    func anAttributeThatEchoesTheSecretIsNotQuoted(attribute: String) throws {
        let item = FakeService.item(
            "1", FakeService.ours("example.com", "ann", [attribute: "S3CR3T"]), secret: "S3CR3T")
        let fake = try FakeService(#"{"items": {\#(item)}}"#)
        do {
            _ = try fake.client.load("example.com", "ann")
            Issue.record("it loads")
        } catch let error as TokenKeepError {
            #expect(error.status == .corrupt)
            #expect(!error.description.contains("S3CR3T"), "\(error)")
        }
    }
}
