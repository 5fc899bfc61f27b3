import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Saves that the module makes with one message. The journal writes all other saves into the record first.
@Suite struct SaveStepTests {
    private func saveAtOnce(
        _ client: ServiceClient, _ secret: String, expiresAt: UnixTime? = nil, label: String? = nil
    ) throws -> Bool {
        let request = try SaveRequest(
            name: client.name("example.com", "ann"), secret: SecretBytes(secret), label: label, expiresAt: expiresAt)
        return try client.module.saveAtOnce(request, client.call()) != nil
    }

    @Test func aNewItemAndANewSecretAreOneStep() throws {
        let fake = try FakeService()
        #expect(try saveAtOnce(fake.client, "one"))
        #expect(try fake.calls().suffix(1) == ["CreateItem"])
        #expect(try saveAtOnce(fake.client, "two"))
        #expect(try fake.calls() == ["GetAll", "SearchItems", "SetSecret"])
        #expect(try fake.client.load("example.com", "ann") == "two")
    }

    @Test func whateverElseChangesIsMore() throws {
        let fake = try FakeService()
        try fake.client.save("example.com", "ann", "one")
        _ = try fake.calls()
        for (secret, expires, label) in [
            ("two", UnixTime(2_000_000_000), nil), ("two", nil, "A label"), ("two\nlines", nil, nil),
        ] as [(String, UnixTime?, String?)] {
            #expect(try !saveAtOnce(fake.client, secret, expiresAt: expires, label: label))
        }
        let calls = try fake.calls()
        #expect(!calls.contains { ["SetSecret", "Set", "CreateItem", "Delete"].contains($0) }, "nothing is changed")
        #expect(try fake.client.load("example.com", "ann") == "one")
    }

    @Test(arguments: [
        ["xdg:schema": "org.tokenkeep.Item", "tokenkeep:namespace": "", "tokenkeep:access": "after-first-unlock"], [:],
    ]) func aTwinOrACopyIsMore(more: [String: String]) throws {
        let other = ["service": "example.com", "username": "ann"].merging(more) { _, new in new }
        let items = [
            FakeService.item("1", FakeService.ours(), secret: "ours", modified: 5),
            FakeService.item("2", other, secret: "other", modified: 4),
        ]
        let fake = try FakeService(#"{"items": {\#(items.joined(separator: ", "))}}"#)
        #expect(try !saveAtOnce(fake.client, "two", label: "a label"))
        #expect(try fake.items().contains("\"ours\""))
    }

    @Test func itNeverPrompts() throws {
        let fake = try FakeService(#"{"locked": true, "prompt": "accept"}"#)
        let request = try SaveRequest(name: fake.client.name("example.com", "ann"), secret: SecretBytes("x"))
        #expect(
            status { _ = try fake.client.module.saveAtOnce(request, fake.client.call(prompts: true)) } == .locked)
        #expect(try !fake.calls().contains("Prompt"))
    }
}
