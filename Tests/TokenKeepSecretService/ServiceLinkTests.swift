import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

@Suite struct ServiceLinkTests {
    private static func connection(to bus: PrivateBus) throws -> BusConnection {
        try GLibrary.load()
        return try BusConnection.connect(
            to: bus.address, breaker: CircuitBreaker(), observers: ChangeObservers(), until: .patient)
    }

    /// The service has the same key: it stores what a session encodes, and the other kind of session decodes it.
    @Test(arguments: [false, true]) func bothKindsOfSessionsEncryptAlike(libsecretStores: Bool) throws {
        let keyring = try PrivateKeyring()
        let connection = try ServiceLinkTests.connection(to: keyring.bus)
        let links = try [libsecretStores, !libsecretStores].map {
            try ServiceLink(over: connection, searching: nil, usesLibsecret: $0, until: .patient)
        }
        for length in [1, 15, 16, 17, 4096, 100_000] {
            let secret = try SecretBytes(bytes: [UInt8](repeating: UInt8(ascii: "s"), count: length))
            let properties = Variant.properties([("org.freedesktop.Secret.Item.Label", .string("label"))])
            let created = try ServiceLinkTests.answer(
                links[0], .defaultCollection, "org.freedesktop.Secret.Collection", "CreateItem",
                [properties, links[0].encode(secret), .boolean(false)], "(oo)")
            let item = try #require(created[0].text.flatMap(ObjectPath.init))
            let encoded = try ServiceLinkTests.answer(
                links[1], item, "org.freedesktop.Secret.Item", "GetSecret", [.path(links[1].session)], "((oayays))")
            #expect(try links[1].decode(encoded[0]) == secret)
            #expect(throws: TokenKeepError.self) { try links[0].decode(encoded[0]) }
        }
        #expect(links.map(\.isEncrypted) == [true, true])
    }

    private static func answer(
        _ link: ServiceLink, _ path: ObjectPath, _ interface: String, _ member: String, _ body: [Variant],
        _ type: String
    ) throws -> Variant {
        let call = MethodCall(
            destination: link.owner, path: path, interface: interface, member: member, body: .tuple(body),
            answerType: type)
        guard case .answer(let answer) = try link.connection.exchange(call, until: .patient) else {
            throw TokenKeepError(.io, "\(member) failed")
        }
        return answer
    }

    @Test(arguments: [false, true]) func aServiceWithoutEncryptionGetsAPlainSession(usesLibsecret: Bool) throws {
        let fake = try FakeService()
        let link = try ServiceLink(
            over: ServiceLinkTests.connection(to: fake.bus), searching: nil, usesLibsecret: usesLibsecret,
            until: .patient)
        let secret = try SecretBytes("token")
        #expect(!link.isEncrypted)
        #expect(try link.decode(link.encode(secret)) == secret)
        #expect(try fake.calls().filter { $0 == "OpenSession" }.count == 2)
    }

    @Test func aPublicKeyOutsideTheGroupIsRefused() throws {
        try GLibrary.load()
        #expect(SessionKeys.areUsable)
        let keys = try SessionKeys()
        #expect(keys.ours.count == 128)
        #expect(keys.ours.first != 0)
        let one = [UInt8](repeating: 0, count: 127) + [1]
        let largest = [UInt8](repeating: 0xFF, count: 128)
        for theirs in [[], [0], [1], one, largest, keys.ours + [0]] {
            #expect(try keys.finish(with: theirs.withUnsafeBytes { Variant.bytes($0) }) == nil)
        }
        #expect(try keys.finish(with: .string("text")) == nil)
        let others = try SessionKeys()
        let shared = try others.finish(with: keys.ours.withUnsafeBytes { Variant.bytes($0) })
        #expect(try shared != nil && shared == keys.finish(with: others.ours.withUnsafeBytes { Variant.bytes($0) }))
    }

    @Test func theBusIsAskedOnceWhetherTheServiceIsKeePassXC() throws {
        let keyring = try PrivateKeyring()
        let deadline = Deadline.patient
        let link = try ServiceLink(
            over: ServiceLinkTests.connection(to: keyring.bus), searching: nil, until: deadline)
        #expect(throws: TokenKeepError.self) { try link.isKeePassXC(until: .passed) }
        #expect(try !link.isKeePassXC(until: deadline))
        #expect(try !link.isKeePassXC(until: .passed))
    }
}
