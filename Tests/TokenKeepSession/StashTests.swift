import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepKeys
@testable import TokenKeepSession

/// Answers that come while their place is locked, and no key with a password can seal them.
struct StashTests {
    private let world = SessionWorld(stack: "any required secret-service")
    private let service = "api.example.com"

    /// A session whose keyring was locked while the server answered, and which has the new token.
    private func stashed(rotation: RotationProfile = .strict) throws -> (session: SessionEngine, store: Store) {
        let session = try world.signedIn(rotation: rotation)
        let store = try world.store()
        world.move(seconds: 3400)
        world.server.whileAnswering { world.shelf.lock() }
        #expect(try session.token().text == "access-2")
        return (session, store)
    }

    private func record(_ store: Store) throws -> String {
        try store.load(service: service, account: "ann").secret.utf8String ?? ""
    }

    @Test func everyProcessGetsTheTokenWhileItsPlaceIsLocked() throws {
        let (session, store) = try stashed()
        #expect(throws: TokenKeepError(.locked, "")) { try record(store) }
        #expect(try world.session().token().text == "access-2")
        #expect(try session.info().isStashed)
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func theNextCallAfterTheUnlockSavesIt() throws {
        let (session, store) = try stashed()
        world.shelf.unlock()
        #expect(try world.session().token().text == "access-2")
        let saved = try record(store)
        #expect(saved.contains("refresh-2"))
        #expect(saved.contains(#""plan":"gold""#))
        #expect(try !session.info().isStashed)
        world.keys.stashes.withLock { #expect($0.isEmpty) }
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-3")
        #expect(world.server.requests == ["refresh-1", "refresh-2"])
    }

    @Test func itIsRenewedAgainWhileItsPlaceIsLocked() throws {
        let (session, store) = try stashed()
        world.move(seconds: 3400)
        #expect(try world.session().token().text == "access-3")
        world.shelf.unlock()
        #expect(try session.token().text == "access-3")
        #expect(try record(store).contains("refresh-3"))
    }

    @Test func aRefreshTokenThatTheServerKeepsIsUsedAgain() throws {
        let session = try world.signedIn()
        for token in ["second", "third"] {
            world.move(seconds: 3400)
            world.server.whileAnswering { world.shelf.lock() }
            world.server.next(.says(200, [:], #"{"access_token":"\#(token)","expires_in":3600}"#))
            #expect(try session.token().text == token)
        }
    }

    @Test func aRestartOfTheMachineLosesItAndTheOldTokenIsNotSentAgain() throws {
        let (session, _) = try stashed()
        world.keys.stashes.withLock { $0 = [:] }
        world.shelf.unlock()
        #expect(try session.token().text == "access-1", "it lasts 200 s more")
        world.move(seconds: 201)
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.token() }
        #expect(try session.info().reason == .rotationLost)
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aServerThatKeepsItsTokensIsAskedAgainAfterARestart() throws {
        let (session, _) = try stashed(rotation: .none)
        world.keys.stashes.withLock { $0 = [:] }
        world.shelf.unlock()
        world.server.next(.says(200, [:], #"{"access_token":"again","expires_in":60}"#))
        #expect(try session.token().text == "again")
    }

    @Test func aLogoutRevokesTheStashedToken() throws {
        let (session, store) = try stashed()
        #expect(try session.end().revocation == .waitingForUnlock)
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        world.shelf.unlock()
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        _ = try Outbox(store, session.options).flush()
        #expect(world.server.revoked == ["refresh-2"])
        world.keys.stashes.withLock { #expect($0.isEmpty) }
    }

    @Test func aSignInTakesThePlaceOfTheStash() throws {
        let (session, store) = try stashed()
        world.shelf.unlock()
        try session.begin(.user, response: SecretBytes(#"{"access_token":"fresh","expires_in":60}"#))
        #expect(try world.session().token().text == "fresh")
        _ = try Outbox(store, session.options).flush()
        #expect(world.server.revoked == ["refresh-2"])
    }

    @Test func aProfileThatIsSetWhileTheUserUnlocksSavesTheStashAndItsNote() throws {
        _ = try stashed()
        world.shelf.whenAsked {}
        let session = try world.session(prompt: { _ throws(TokenKeepError) in try SecretBytes("") })
        try session.setProfile(SecretBytes("{}"))
        world.keys.stashes.withLock { #expect($0.isEmpty) }
        let note = try #require(try session.storage.note())
        #expect(!note.isStashed && note.refreshing == nil)
        #expect(try session.token().text == "access-2")
    }

    @Test func aDamagedNoteLosesNoStash() throws {
        let (session, store) = try stashed()
        let folder = "vault/current/sessions"
        let note = try #require(world.directory.names(in: folder).first { $0.count == 32 })
        world.directory.write([1, 2, 3], to: "\(folder)/\(note)")
        world.shelf.unlock()
        #expect(try session.token().text == "access-2")
        #expect(try session.token().text == "access-2")
        #expect(try record(store).contains("refresh-2"))
    }

    @Test func aDamagedRecordLeavesTheTokensOfTheStash() throws {
        let (session, store) = try stashed()
        world.shelf.damage()
        world.shelf.unlock()
        #expect(throws: TokenKeepError(.corrupt, "")) { try record(store) }
        #expect(try session.token().text == "access-2")
        #expect(try world.session().token().text == "access-2")
    }

    @Test func whatIsInTheStashIsCheckedLikeARecord() throws {
        let (session, _) = try stashed()
        for garbage in ["", "{}", "[1", #"{"tokenkeep_session":2,"access_token":"a"}"#] {
            world.keys.stashes.withLock { stashes in
                for place in stashes.keys { stashes[place] = try? SecretBytes(garbage) }
            }
            #expect(throws: TokenKeepError(.locked, "")) { try session.token() }
        }
        world.shelf.unlock()
        #expect(try session.token().text == "access-1")
    }
}
