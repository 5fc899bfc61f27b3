import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepKeys
@testable import TokenKeepSession

/// Whoever has the keyfile can forge a session's note: it never decides where a token goes.
struct ForgedNoteTests {
    private let world = SessionWorld()

    /// The providers that requests named, by the word of their purpose.
    private let asked = MutexGuarded<[String: String]>([:])

    private func session(provider: String? = "right", refreshLevel: AccessLevel? = nil) throws -> SessionEngine {
        let transport: SessionTransport = { [asked, server = world.server] request throws(TokenKeepError) in
            asked.withLock { $0[request.purpose.word] = request.provider ?? "none" }
            return try server.transport(request)
        }
        var options = try world.session(refreshLevel: refreshLevel, transport).options
        options.provider = provider
        return try SessionEngine(world.store(), service: "api.example.com", account: "ann", options)
    }

    private func signIn(refreshLevel: AccessLevel? = nil) throws {
        try session(refreshLevel: refreshLevel).begin(.user, response: SecretBytes(world.server.signIn))
    }

    private func forge(_ body: (inout SessionNote) -> Void) throws {
        let session = try session(provider: nil)
        try session.storage.changeNote(session.begin()) { note in
            body(&note)
            return true
        }
    }

    @Test func theNoteSendsNoTokenToAnotherProvider() throws {
        try signIn()
        try forge { $0.provider = "his" }
        let session = try session(provider: nil)
        try session.validate()
        try session.extend(by: 600)
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-2")
        _ = try session.end()
        #expect(
            asked.withLock { $0 } == ["validate": "right", "extend": "right", "refresh": "right", "revoke": "right"])
    }

    @Test func nothingIsRevokedAtAProviderThatTheNoteNames() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        try signIn(refreshLevel: .whenUnlocked)
        try world.store().lock(.screen)
        let session = try session(provider: nil)
        _ = try session.end()
        try forge { $0.provider = "his" }
        try world.store().unlock(SecretBytes("horse"))
        _ = try Outbox(session.store, session.options).flush()
        #expect(asked.withLock { $0 } == ["revoke": "right"])
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test func theNoteLowersNoLevelOfATokenThatIsToBeRevoked() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        world.server.become(.isAway)
        var options = try session().options
        options.level = .whenUnlocked
        let strict = try SessionEngine(world.store(), service: "api.example.com", account: "ann", options)
        try strict.begin(.user, response: SecretBytes(world.server.signIn))
        try forge { $0.level = AccessLevel.afterFirstUnlock.rawValue }
        _ = try strict.end()
        let waiting = try world.store().list(service: Outbox.service).items
        #expect(waiting.map(\.accessLevel) == [.whenUnlocked])
    }
}
