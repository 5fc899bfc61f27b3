import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepSession

/// Tokens that are renewed once, whoever asks, and whatever the server does.
struct RefreshTests {
    private let world = SessionWorld()

    @Test func aGoodTokenIsReturnedWithoutARequest() throws {
        let session = try world.signedIn()
        let token = try session.token()
        #expect(token.text == "access-1")
        #expect(token.secondsLeft == 3600)
        #expect(token.scope == "read")
        #expect(!token.isShort)
        world.move(seconds: 3299)
        #expect(try session.token().text == "access-1")
        #expect(world.server.requests.isEmpty)
    }

    @Test func aTokenIsRenewedFiveMinutesBeforeItsEnd() throws {
        let session = try world.signedIn()
        world.move(seconds: 3301)
        let token = try session.token()
        #expect(token.text == "access-2")
        #expect(token.generation == 2)
        #expect(world.server.requests == ["refresh-1"])
        #expect(try world.session().token().text == "access-2")
        #expect(world.server.requests.count == 1)
    }

    @Test func aRefusedTokenIsNotReplacedByOneThatIsOver() throws {
        let session = try world.signedIn()
        let first = try session.token()
        _ = try session.refresh()
        world.move(seconds: 7200)
        #expect(try session.rejected(first.value).text == "access-3")
    }

    @Test func aShortLivedTokenIsRenewedAfterTwoThirdsOfItsLife() throws {
        let session = try world.signedIn(lifetime: 60)
        world.move(seconds: 39)
        #expect(try session.token().text == "access-1")
        world.move(seconds: 2)
        #expect(try session.token().text == "access-2")
    }

    @Test func aHigherMinTTLThanTheLifetimeGivesAShortTokenAndNoLoop() throws {
        let session = try world.signedIn(lifetime: 60)
        world.move(seconds: 30)
        let token = try session.token(minTTL: 600)
        #expect(token.text == "access-2")
        #expect(token.isShort)
        #expect(try session.token(minTTL: 600).text == "access-2")
        #expect(world.server.requests.count == 1)
    }

    @Test func manyThreadsAndHandlesMakeOneRequest() throws {
        _ = try world.signedIn()
        world.move(seconds: 3500)
        let results = MutexGuarded<[String]>([])
        let handles = try (0..<8).map { _ in try world.session() }
        let threads = handles.map { handle in
            TestThread {
                for _ in 0..<4 {
                    let text = (try? handle.token().text) ?? "failed"
                    results.withLock { $0.append(text) }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(results.withLock { $0 } == [String](repeating: "access-2", count: 32))
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aRejectedTokenIsReplacedByTheOneOfAnotherProcessWithoutARequest() throws {
        let session = try world.signedIn()
        let old = try session.token().value
        let other = try world.session()
        #expect(try other.rejected(old).text == "access-2")
        #expect(try session.rejected(old).text == "access-2")
        #expect(world.server.requests == ["refresh-1"])
    }

    /// The record is saved before the slot is changed: until then the kept token is the refused one.
    @Test func aRejectedTokenIsNotReturnedWhileTheNextOneIsSaved() throws {
        let session = try world.signedIn()
        let old = try session.token().value
        let answers = MutexGuarded<[String]>([])
        let other = try world.session(whenExplained: { line in
            guard line.hasPrefix("saved generation") else { return }
            let answer = (try? session.rejected(old).text) ?? "failed"
            answers.withLock { $0.append(answer) }
        })
        #expect(try other.refresh().text == "access-2")
        #expect(answers.withLock { $0 } == ["access-2"])
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aRefusalSignsOutOnceAndIsNotRepeated() throws {
        let session = try world.signedIn()
        world.server.become(.says(400, [:], #"{"error":"invalid_grant"}"#))
        world.move(seconds: 3601)
        for _ in 0..<2 {
            #expect(throws: TokenKeepError(.needsLogin, "")) { try session.token() }
        }
        #expect(throws: TokenKeepError(.needsLogin, "")) { try world.session().token() }
        #expect(world.server.requests.count == 1)
        let info = try session.info()
        #expect(info.state == .needsLogin)
        #expect(info.reason == .refused)
    }

    @Test func anEmpty400IsARefusal() throws {
        let session = try world.signedIn()
        world.server.become(.says(400, [:], ""))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.token() }
    }

    @Test func aRefusedClientLeavesTheSession() throws {
        let session = try world.signedIn()
        world.server.next(.says(401, [:], #"{"error":"invalid_client"}"#))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.denied, "")) { try session.token() }
        #expect(try session.token().text == "access-2")
    }

    @Test func aRequestThatIsNotSentIsTriedThreeTimesWithJitter() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        let pauses = world.pauses.withLock { $0 }
        #expect(pauses.count == 2)
        #expect((800...1200).contains(pauses[0]))
        #expect((1600...2400).contains(pauses[1]))
        world.server.become(.answers)
        #expect(try session.token().text == "access-2")
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aValidTokenSurvivesAServerThatIsAway() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        world.move(seconds: 3400)
        let token = try session.token(minTTL: 300)
        #expect(token.text == "access-1")
        #expect(token.isShort)
    }

    @Test func aCoolDownHoldsForEveryProcess() throws {
        let session = try world.signedIn()
        world.server.next(.says(429, ["Retry-After": "120"], ""))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        #expect(throws: TokenKeepError(.unavailable, "")) { try world.session().token() }
        #expect(world.server.requests.count == 1)
        world.move(seconds: 121)
        #expect(try world.session().token().text == "access-2")
    }

    @Test(arguments: ["garbage", "", "-5", "Tue, 40 Foo 2027 00:00:00 GMT"])
    func aRetryAfterThatMeansNothingWaitsThirtySecondsAndThenTwiceAsLong(header: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        for wait in [30, 60, 120] as [Int64] {
            world.server.next(.says(429, ["Retry-After": header], ""))
            #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
            world.move(seconds: wait - 6)
            let before = world.server.requests.count
            #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
            #expect(world.server.requests.count == before)
            world.move(seconds: 7)
        }
        #expect(try session.token().text == "access-2")
    }

    @Test func aCoolDownIsAtMostADay() throws {
        let session = try world.signedIn()
        world.server.next(.says(429, ["Retry-After": "315360000"], ""))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        world.move(seconds: 86_401)
        #expect(try session.token().text == "access-2")
    }

    @Test func aLostAnswerUnderStrictUsesTheTokenToItsEndAndIsThenLost() throws {
        let session = try world.signedIn()
        world.server.next(.losesAnswer)
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-1")
        #expect(try session.token().text == "access-1")
        #expect(world.server.requests.count == 1)
        world.move(seconds: 300)
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.token() }
        #expect(world.server.requests == ["refresh-1", "refresh-1"])
        #expect(try session.info().reason == .rotationLost)
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.token() }
        #expect(world.server.requests.count == 2)
    }

    @Test func aRequestThatNeverArrivedIsSentOnceMoreUnderStrict() throws {
        let session = try world.signedIn()
        world.server.next(.says(502, [:], "<html>bad gateway</html>"))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        #expect(try world.session().token().text == "access-2")
        #expect(try session.info().state == .user)
    }

    @Test func aServerThatKeepsRefreshTokensIsAskedAgainAtOnceAndThenAfterAPause() throws {
        let session = try world.signedIn(rotation: .none)
        world.server.next(.says(500, [:], ""), .says(500, [:], ""))
        world.move(seconds: 3601)
        for _ in 0..<3 { #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() } }
        #expect(world.server.requests.count == 2)
        world.move(seconds: 30)
        #expect(try session.token().text == "access-2")
    }

    @Test(arguments: [
        (302, ""), (500, ""), (502, "<html></html>"), (200, "<html>captive portal</html>"), (200, "[]"), (200, "{}"),
        (200, #"{"access_token":7}"#), (200, "<html>"),
    ])
    func anAnswerThatIsNoneNeverSignsOut(status: Int, body: String) throws {
        let session = try world.signedIn(rotation: .none)
        world.server.next(.says(status, [:], body))
        world.move(seconds: 3601)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        #expect(try session.token().text == "access-2")
    }

    @Test func anAnswerWithoutARefreshTokenKeepsTheOldOne() throws {
        let session = try world.signedIn()
        world.server.next(.says(200, [:], #"{"access_token":"a2","token_type":"bearer","expires_in":"60"}"#))
        world.move(seconds: 3601)
        #expect(try session.token().text == "a2")
        #expect(try session.token().secondsLeft == 60)
        world.move(seconds: 61)
        #expect(try session.token().text == "access-2")
    }

    @Test(arguments: [-3600, 3600, -315_360_000, 315_360_000] as [Int64])
    func aClockThatIsSetMakesAtMostOneRefresh(seconds: Int64) throws {
        let session = try world.signedIn()
        world.setWallClock(by: seconds)
        for _ in 0..<4 { _ = try session.token() }
        #expect(world.server.requests.count <= 1)
        // By the other clock the token's time goes on.
        world.move(seconds: 3601)
        for _ in 0..<4 { #expect(try session.token().secondsLeft == 3600) }
        #expect(world.server.requests.count <= 2)
    }

    @Test func anotherStartOfTheMachineLeavesTheWallClock() throws {
        let session = try world.signedIn()
        world.restart()
        world.move(seconds: 100)
        #expect(try session.token().secondsLeft == 3500)
        world.move(seconds: 3501)
        #expect(try session.token().text == "access-2")
    }

    @Test func underOverlapASecondLostAnswerLeavesTheTokenToItsEnd() throws {
        let session = try world.signedIn(rotation: .overlap(seconds: 30))
        world.server.next(.says(502, [:], ""), .says(502, [:], ""))
        world.move(seconds: 3400)
        for _ in 0..<2 { #expect(try session.token().text == "access-1") }
        #expect(world.server.requests.count == 2)
        world.move(seconds: 60)
        for _ in 0..<2 { #expect(try session.token().text == "access-1") }
        #expect(world.server.requests.count == 2, "the overlap is over, and the token is not")
        world.move(seconds: 200)
        #expect(try session.token().text == "access-2")
        #expect(try session.info().state == .user)
    }

    @Test func anAnswerThatWasSavedIsKnownWithoutItsNote() throws {
        let session = try world.signedIn()
        world.server.next(.says(200, [:], #"{"access_token":"a2","expires_in":3600}"#))
        world.move(seconds: 3400)
        #expect(try session.token().text == "a2")
        // The process died after it saved the record, which has the same refresh token.
        let call = CallContext.patient
        let fingerprint = try session.storage.files.fingerprint(of: SecretBytes("refresh-1"), call)
        try session.storage.changeNote(call) { note in
            note.generation = 1
            note.refreshing = SessionNote.Refreshing(
                fingerprint: fingerprint, since: session.options.clock(), process: 1)
            return true
        }
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-2")
        #expect(world.server.requests == ["refresh-1", "refresh-1"])
    }

    @Test func anAnswerThatIsTooLongWithItsExtrasIsSavedWithoutThem() throws {
        let session = try world.signedIn()
        try session.setProfile(SecretBytes(#"{"name":"\#(String(repeating: "n", count: 40_000))"}"#))
        let extra = String(repeating: "x", count: 240_000)
        world.server.next(
            .says(200, [:], #"{"access_token":"a2","refresh_token":"refresh-1","expires_in":60,"more":"\#(extra)"}"#))
        world.move(seconds: 3601)
        #expect(try session.token().text == "a2")
        #expect(try world.session().token().text == "a2")
        #expect(try session.profile()?.count == 40_011)
    }
}
