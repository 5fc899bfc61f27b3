import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSession

/// Servers that answer nothing useful for a long time.
struct OutageTests {
    static let answers: [TokenServer.Mood] = [
        .says(500, [:], ""), .says(502, [:], "<html></html>"), .says(503, [:], ""),
        .says(503, ["Retry-After": "0"], ""),
        .says(504, [:], ""), .says(407, [:], ""), .says(302, ["Location": "https://login.example.org/"], ""),
        .says(200, [:], "<html>captive portal</html>"), .says(200, [:], #"{"access_token":"#),
        .says(401, [:], ""), .says(403, [:], "<html>invalid_grant</html>"), .says(429, [:], ""),
        .says(401, [:], #"{"error":"invalid_client"}"#), .says(400, [:], #"{"error":"invalid_scope"}"#),
    ]
    static let profiles = [RotationProfile.strict, .overlap(seconds: 60), .none]

    private let world = SessionWorld()

    /// Four processes ask every 30 seconds, from 5 minutes before the token's end until an hour after it.
    @Test(arguments: answers, profiles)
    func anHourWithoutAnAnswerSignsNobodyOutAndCostsAFewRequests(
        answer: TokenServer.Mood, rotation: RotationProfile
    ) throws {
        _ = try world.signedIn(rotation: rotation)
        let processes = try (0..<4).map { _ in try world.session(rotation: rotation) }
        world.server.become(answer)
        world.move(seconds: 3300)
        for _ in 0..<130 {
            for process in processes { _ = try? process.token() }
            world.move(seconds: 30)
        }
        #expect(try processes[0].info().state == .user)
        // The pauses of a server that refuses the client stay short.
        #expect((2...20).contains(world.server.requests.count), "\(world.server.requests.count)")
        world.server.become(.answers)
        world.move(seconds: 3600)
        #expect(try processes[1].token().text == "access-2")
        #expect(try processes[2].token().text == "access-2")
    }

    /// The connection breaks after each request, which never arrives.
    @Test(arguments: profiles) func anHourOfLostConnectionsSignsNobodyOut(rotation: RotationProfile) throws {
        _ = try world.signedIn(rotation: rotation)
        let isOut = MutexGuarded(true)
        let sent = MutexGuarded(0)
        let session = try world.session(rotation: rotation) { [server = world.server] request throws(TokenKeepError) in
            guard isOut.withLock({ $0 }) else { return try server.transport(request) }
            sent.withLock { $0 += 1 }
            throw TokenKeepError(.timedOut, "the connection broke")
        }
        world.move(seconds: 3600)
        for _ in 0..<120 {
            #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
            world.move(seconds: 30)
        }
        #expect(sent.withLock { $0 } <= 9)
        isOut.withLock { $0 = false }
        world.move(seconds: 3600)
        #expect(try session.token().text == "access-2")
    }

    @Test func aKeeperOfAServerThatErrsAsksItAFewTimesAnHour() throws {
        let session = try world.signedIn()
        world.server.become(.says(500, [:], ""))
        var time: Int64 = 0
        while time < 7200 {
            let next = Int64(try session.step() + 999) / 1000
            world.move(seconds: next)
            time += next
        }
        #expect(try session.info().state == .user)
        #expect((2...9).contains(world.server.requests.count), "\(world.server.requests.count)")
    }

    @Test func whatTheServerSaysStandsInMessagesUntilItGivesTokens() throws {
        let session = try world.signedIn(rotation: .none)
        world.move(seconds: 3601)
        let body = #"{"error":"server_error","error_description":"node 7\n\u001b[31m is restarting"}"#
        world.server.become(.says(500, [:], body))
        let words = "it answered 500 (server_error: node 7??[31m is restarting)"
        for message in ["the session was not renewed: \(words)", "the session was not renewed: \(words)"] {
            let error = #expect(throws: TokenKeepError.self) { try session.token() }
            #expect(error?.message == message)
        }
        let error = #expect(throws: TokenKeepError.self) { try world.session().token() }
        #expect(error?.message == "the server is not asked for 30 s more: \(words)")
        #expect(try session.info().problem == words)
        #expect(world.explained.contains("the server's answer: \(words)"))
        world.server.become(.answers)
        world.move(seconds: 30)
        #expect(try session.token().text == "access-2")
        #expect(try session.info().problem == nil)
    }

    @Test func wordsThatRepeatTheRefreshTokenAreLeftOut() throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        let body = #"{"error":"invalid_grant","error_description":"unknown token refresh-1"}"#
        world.server.become(.says(400, [:], body))
        let error = #expect(throws: TokenKeepError.self) { try session.token() }
        #expect(error?.message == "the session of api.example.com (ann) is over (refused: invalid_grant)")
    }

    @Test(arguments: ["interaction_required", "login_required", "consent_required", "mfa_required"])
    func aServerThatWantsTheUserSaysSoUntilTheNextSignIn(word: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 3400)
        world.server.next(
            .says(400, [:], #"{"error":"\#(word)","error_description":"AADSTS50076: second factor"}"#))
        for _ in 0..<2 {
            let error = #expect(throws: TokenKeepError.self) { try session.token() }
            #expect(error?.status == .needsLogin)
            #expect(error?.message.hasSuffix("is over (interaction: \(word): AADSTS50076: second factor)") == true)
        }
        #expect(world.server.requests.count == 1)
        #expect(try session.info().reason == .interaction)
        try session.begin(.user, response: SecretBytes(world.server.signIn))
        #expect(try session.token().text == "access-1")
        #expect(try session.info().problem == nil)
    }

    @Test func aBodyOfSupabaseIsARefusal() throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        world.server.next(
            .says(400, [:], #"{"code":400,"error_code":"refresh_token_already_used","msg":"Already Used"}"#))
        let error = #expect(throws: TokenKeepError.self) { try session.token() }
        #expect(error?.message.hasSuffix("is over (refused: refresh_token_already_used: Already Used)") == true)
    }

    @Test func aClientThatTheServerRefusesIsNotRefusedTwentyTimes() throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        world.server.become(.says(401, [:], #"{"error":"invalid_client","error_description":"disabled"}"#))
        for _ in 0..<20 { #expect(throws: TokenKeepError.self) { try session.token() } }
        #expect(world.server.requests.count == 2)
        #expect(try session.info().problem == "it refuses the client: invalid_client: disabled")
    }

    @Test(arguments: [
        ("invalid_client", "check client id, secret and scope"),
        ("invalid_scope", "check scope and resource of the provider's file"),
    ])
    func aRefusalStaysOneWhileTheServerIsLeftAlone(word: String, hint: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        world.server.become(.says(400, [:], #"{"error":"\#(word)"}"#))
        let errors = (0..<5).map { _ in #expect(throws: TokenKeepError.self) { try session.token() } }
        #expect(world.server.requests.count < 5)
        #expect(errors.map { $0?.status } == Array(repeating: Status.denied, count: 5))
        #expect(errors.map { $0?.hint } == Array(repeating: hint, count: 5))
        #expect(errors.last??.message.hasPrefix("the server is not asked for ") == true)
    }

    @Test func aResourceThatTheServerRefusesLeavesTheSessionsOtherTokens() throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], #"{"error":"invalid_target"}"#))
        let target = try TokenTarget(resource: "https://other.example.com", scope: nil)
        #expect(throws: TokenKeepError(.denied, "")) { try session.token(for: target) }
        world.move(seconds: 3601)
        #expect(try session.token().text == "access-2")
    }

    @Test(arguments: [429, 503], profiles)
    func aShortWaitThatTheServerAsksForIsWaitedFor(status: Int, rotation: RotationProfile) throws {
        let session = try world.signedIn(rotation: rotation)
        world.move(seconds: 3601)
        world.server.next(.says(status, ["Retry-After": "2"], ""))
        #expect(try session.token().text == "access-2")
        #expect(world.pauses.withLock { $0 } == [2000])
    }

    @Test func aServerThatAsksForShortWaitsWithoutEndEndsTheCall() throws {
        let session = try world.signedIn()
        world.move(seconds: 3601)
        world.server.become(.says(429, ["Retry-After": "1"], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        #expect(world.server.requests.count == 4)
    }
}
