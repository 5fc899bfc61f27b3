import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepSession

@testable import TokenKeepFleet

/// `Tests/Fleet/fleet.vectors`, which a second reader wrote from docs/fleet.md.
@Suite("Vectors of the fleet's format")
struct VectorTests {
    private let json: JSONValue

    init() throws {
        let path = "\(#filePath)".replacing("TokenKeepFleet/VectorTests.swift", with: "Fleet/fleet.vectors")
        let bytes = try #require(try PrivateFile.read(path))
        json = try #require(bytes.withUnsafeBytes { JSONValue(parsing: $0) })
    }

    private func text(_ name: String) throws -> String { try #require(json[name]?.text) }
    private func key(_ name: String) throws -> FleetKey { try FleetKey(Hexadecimal.bytes(SecretBytes(text(name)))) }

    @Test("keys and ids")
    func keys() throws {
        let fleet = try key("fleet_key")
        let user = try fleet.user("ann")
        #expect(try user.bytes == key("user_key").bytes)
        #expect(try fleet.administration().bytes == key("administration_key").bytes)
        #expect(try fleet.userID("ann") == text("user_id"))
        #expect(try user.accountID(service: "api.example.com", account: "ann") == text("account_id"))
        let epoch = String(repeating: "00ff", count: 8)
        let session = user.sessionID(service: "api.example.com", account: "ann", epoch: epoch, mark: 7)
        #expect(try session == text("session_id"))
        #expect(try user.orderID(device: "0123456789abcdef", session: session) == text("order_id"))
        #expect(try user.subjectHash(issuer: "https://id.example.com", subject: "248") == text("subject"))
        #expect(try user.emailHash("Ann@Example.com") == text("email"))
    }

    @Test("a sealed order")
    func value() throws {
        let sealed = try #require(Array(text("value").utf8).withUnsafeBytes { Base64.bytes($0) })
        let entry = RegistryEntry(key: try text("path"), value: sealed, changedAt: 1)
        let order = try #require(OrderValue.open(entry, key("user_key")))
        #expect(try order.session == text("session_id"))
        #expect(order.service == "api.example.com" && order.account == "ann" && order.reason == "lost")
        #expect(order.from == "0123456789abcdef" && order.at == 1_764_201_600 && order.eventAt == 1_764_201_600)
    }

    @Test("a join code")
    func code() throws {
        let call = CallContext(deadline: .patient)
        let words = try SecretBytes(text("words"))
        let invitation = try JoinCode.open(text("code"), words: words, now: 1_764_201_600, call)
        #expect(invitation.fleet == "home" && invitation.person == "ann" && invitation.presence == 900)
        #expect(try invitation.userKey == key("user_key").bytes)
        #expect(invitation.endpoints == ["https://etcd.example.com:2379"] && invitation.authority == nil)
        #expect(invitation.password?.utf8String == "päss")
    }
}
