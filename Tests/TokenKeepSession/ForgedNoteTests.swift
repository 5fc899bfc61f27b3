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

    /// The vault locks while the server answers, so that the record cannot be read when its tokens are saved.
    @Test func theNoteLowersNoLevelOfTokensThatComeWhileTheVaultIsLocked() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        try strictSignIn()
        try forge { $0.level = AccessLevel.afterFirstUnlock.rawValue }
        let store = try world.store()
        world.server.whileAnswering { _ = try? store.lock() }
        _ = try? session().refresh()
        #expect(world.server.requests == ["refresh-1"])
        try world.store().unlock(SecretBytes("horse"))
        let item = try world.store().load(service: "api.example.com", account: "ann")
        #expect(item.secret.utf8String?.contains("refresh-2") == true)
        #expect(item.details.accessLevel == .whenUnlocked)
    }

    /// Tokens of another person wait to be revoked, at the level of the session that they came for.
    @Test func theNoteLowersNoLevelOfAnotherPersonsTokens() throws {
        func token(_ subject: String) -> String {
            let claims = jsonWebToken(#"{"iss":"https://login.example.com","sub":"\#(subject)"}"#)
            return #"{"access_token":"a-\#(subject)","refresh_token":"r-\#(subject)","id_token":"\#(claims)"}"#
        }
        try strictSignIn(token("ann"))
        try forge {
            $0.level = AccessLevel.afterFirstUnlock.rawValue
            $0.provider = "his"
        }
        world.server.next(.says(200, [:], token("bob")))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session(provider: nil).refresh() }
        let waiting = try world.store().list(service: Outbox.service).items
        #expect(waiting.map(\.accessLevel) == [.whenUnlocked])
        _ = try session(provider: nil).outbox.flush()
        #expect(asked.withLock { $0["revoke"] } == "right")
    }

    /// `logout --browser` gives the ID token to the provider, and `login --add-scope` asks for the scopes.
    @Test func providerAndScopeComeFromTheRecord() throws {
        try signIn()
        try forge {
            $0.provider = "his"
            $0.scope = "admin"
        }
        let session = try session(provider: nil)
        let info = try session.info()
        #expect(info.provider == "his" && info.scope == "admin", "the note is forged")
        let sealed = try session.sealed()
        #expect(sealed.provider == "right" && sealed.scope == "read")
    }

    private func strictSignIn(_ response: String? = nil) throws {
        var options = try session().options
        options.level = .whenUnlocked
        let strict = try SessionEngine(world.store(), service: "api.example.com", account: "ann", options)
        try strict.begin(.user, response: SecretBytes(response ?? world.server.signIn))
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
