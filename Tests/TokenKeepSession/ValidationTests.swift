import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// Questions to the server about the access token, and a longer life.
struct ValidationTests {
    private let world = SessionWorld()

    @Test func anAcceptedTokenIsNotedWithItsTime() throws {
        let session = try world.signedIn()
        world.move(seconds: 100)
        try session.validate()
        #expect(world.server.validated == ["access-1"])
        #expect(world.server.requests.isEmpty)
        #expect(try world.session().info().validatedAt?.rawValue == 1_800_000_100)
    }

    @Test func aSignInByTheServerCountsAndTokensFromElsewhereDoNot() throws {
        #expect(try world.signedIn().info().validatedAt?.rawValue == 1_800_000_000)
        let raw = try world.session("raw")
        try raw.begin(rawToken: SecretBytes("raw"))
        #expect(try raw.info().validatedAt == nil)
    }

    @Test func aRefusedTokenIsRenewedOnce() throws {
        let session = try world.signedIn()
        world.server.next(.says(401, [:], ""))
        try session.validate()
        #expect(world.server.validated == ["access-1", "access-2"])
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aServerThatRefusesEveryTokenEndsNothing() throws {
        let session = try world.signedIn()
        world.server.next(.says(401, [:], ""), .answers, .says(401, [:], ""))
        #expect(throws: TokenKeepError(.denied, "")) { try session.validate() }
        #expect(world.server.requests.count == 1)
        #expect(try session.info().state == .user)
    }

    @Test func aRefusedTokenWithoutARefreshTokenIsOver() throws {
        let session = try world.session()
        try session.begin(rawToken: SecretBytes("raw"))
        #expect(throws: TokenKeepError(.expired, "")) { try session.validate() }
        #expect(try session.info().state == .needsLogin)
    }

    @Test(arguments: [(403, Status.denied), (500, .unavailable), (302, .unavailable), (429, .unavailable)])
    func otherAnswersChangeNothing(status: Int, expected: Status) throws {
        let session = try world.signedIn()
        world.server.next(.says(status, [:], ""))
        #expect(throws: TokenKeepError(expected, "")) { try session.validate() }
        #expect(try session.token().text == "access-1")
        #expect(world.server.requests.isEmpty)
    }

    @Test func anAbsentServerEndsNothing() throws {
        let session = try world.signedIn()
        world.server.next(.isAway)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.validate() }
        #expect(try session.token().text == "access-1")
        #expect(throws: TokenKeepError(.unsupported, "")) { try world.session(sends: false).validate() }
    }

    @Test func theHeartbeatValidatesEveryThreeMinutesIfItIsAskedTo() throws {
        _ = try world.signedIn()
        let silent = try world.session()
        world.move(seconds: 181)
        _ = try silent.step()
        #expect(world.server.validated.isEmpty)
        let session = try world.session(validates: true)
        _ = try session.step()
        #expect(world.server.validated.count == 1)
        world.move(seconds: 100)
        _ = try session.step()
        #expect(world.server.validated.count == 1)
        world.move(seconds: 100)
        // An absent server is asked at the next step.
        world.server.next(.isAway)
        _ = try session.step()
        _ = try session.step()
        #expect(world.server.validated.count == 2)
    }

    @Test(arguments: [0, 299, 31_536_001, UInt32.max])
    func anExtensionOutOfRangeIsRefusedBeforeTheServerIsAsked(seconds: UInt32) throws {
        let session = try world.signedIn()
        #expect(throws: TokenKeepError(.invalid, "")) { try session.extend(by: seconds) }
        #expect(world.server.extended.isEmpty)
    }

    @Test func aValidationNotesThatTheServerAsksToWaitAndObeysIt() throws {
        let session = try world.signedIn()
        world.server.next(.says(429, ["Retry-After": "600"], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.validate() }
        #expect(throws: TokenKeepError(.unavailable, "")) { try world.session().validate() }
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(world.server.validated == ["access-1"])
        #expect(world.server.extended.isEmpty)
        #expect(world.server.requests.isEmpty)
        world.move(seconds: 601)
        try session.validate()
        #expect(world.server.validated == ["access-1", "access-1"])
    }

    @Test func anExtensionNotesThatTheServerAsksToWait() throws {
        let session = try world.signedIn()
        world.server.next(.says(503, [:], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        #expect(try session.storage.note()?.coolDown(at: session.options.clock()) == 30)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.validate() }
        #expect(world.server.validated.isEmpty)
    }

    @Test func anExtensionWithNewTokensIsSaved() throws {
        let session = try world.signedIn()
        world.server.set(
            extensionAnswer: #"{"access_token":"longer","refresh_token":"refresh-1","expires_in":7200}"#)
        try session.extend(by: 300)
        #expect(world.server.extended == [300])
        #expect(try session.token().text == "longer")
        #expect(try world.session().token().secondsLeft == 7200)
    }

    @Test func anExtensionWithANewLifeKeepsTheToken() throws {
        let session = try world.signedIn()
        world.move(seconds: 1000)
        world.server.set(extensionAnswer: #"{"expires_in":31536000}"#)
        try session.extend(by: 31_536_000)
        let token = try world.session().token()
        #expect(token.text == "access-1")
        #expect(token.secondsLeft == 31_536_000)
        #expect(token.generation == 1)
    }

    @Test func anExtensionWithoutAWordChangesNothing() throws {
        let session = try world.signedIn()
        world.move(seconds: 100)
        try session.extend(by: 600)
        #expect(try session.token().secondsLeft == 3500)
        #expect(try session.info().validatedAt?.rawValue == 1_800_000_100)
    }

    @Test func anExtensionWithARefusedTokenIsTriedOnceMore() throws {
        let session = try world.signedIn()
        world.server.next(.says(401, [:], ""))
        world.server.set(extensionAnswer: #"{"expires_in":9000}"#)
        try session.extend(by: 600)
        #expect(world.server.extended == [600, 600])
        #expect(try session.token().text == "access-2")
        #expect(try session.token().secondsLeft == 9000)
    }

    @Test func anExtensionDoesNotForgetARefreshWithoutAnAnswer() throws {
        let session = try world.signedIn()
        world.server.next(.losesAnswer, .says(200, [:], #"{"expires_in":7200}"#))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        try session.extend(by: 3600)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(world.server.requests == ["refresh-1"])
        #expect(try session.token().secondsLeft == 7200)
    }

    @Test func aLogoutDuringAnExtensionQueuesTheNewTokens() throws {
        let session = try world.signedIn()
        world.server.set(extensionAnswer: #"{"access_token":"late","refresh_token":"late-refresh"}"#)
        let other = try world.session(sends: false)
        world.server.whileAnswering { _ = try? other.end() }
        #expect(throws: TokenKeepError(.notFound, "")) { try session.extend(by: 600) }
        _ = try Outbox(world.store(), session.options).flush()
        #expect(Set(world.server.revoked) == ["refresh-1", "late-refresh"])
    }
}
