import Synchronization
import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The device flow against a played server.
@Suite struct DeviceFlowTests {
    private static let code =
        #"{"device_code":"d-1","user_code":"WDJB-MJHT","verification_uri":"https://login.example.com/device","#
        + #""expires_in":600,"interval":2}"#

    private func pending(_ error: String, status: Int = 400) throws -> HTTPResponse {
        try PlayedServer.json(#"{"error":"\#(error)"}"#, status: status)
    }

    private func signIn(
        _ played: PlayedServer, waits: Recorder = Recorder(), present: @escaping SignInPresenter = { _ in nil }
    ) throws(TokenKeepError) -> SignedIn {
        var options = SignInOptions.test(.device, scope: "a b")
        options.pause = { milliseconds, _ in waits.add(milliseconds) }
        return try SignIn.run(at: played.server, options, until: .patient, present)
    }

    private final class Recorder: Sendable {
        private let waits = Mutex<[UInt32]>([])
        var all: [UInt32] { waits.withLock { $0 } }
        func add(_ milliseconds: UInt32) { waits.withLock { $0.append(milliseconds) } }
    }

    @Test func theCodeIsShownAndTheServerAskedUntilItIsApproved() throws {
        let played = PlayedServer(
            try PlayedServer.json(Self.code), try pending("authorization_pending"), try pending("slow_down"),
            try pending("authorization_pending"), try PlayedServer.tokens(#","scope":"a""#))
        let shown = Mutex<SignInStep?>(nil)
        let waits = Recorder()
        let result = try signIn(played, waits: waits) { step in
            shown.withLock { $0 = step }
            return nil
        }
        #expect(shown.withLock { $0?.userCode } == "WDJB-MJHT")
        #expect(shown.withLock { $0?.address } == "https://login.example.com/device")
        #expect(waits.all == [2000, 2000, 7000, 7000])
        #expect(played.posted[0] == ["scope": "a b"])
        #expect(played.posted[4]["device_code"] == "d-1")
        #expect(result.otherScope == "a")
    }

    /// Some servers send each member in each answer.
    @Test(arguments: ["authorization_pending", "slow_down"])
    func aPendingAnswerWithoutAnErrorStatusMayHaveEmptyMembers(word: String) throws {
        let pending = try PlayedServer.json(#"{"access_token":null,"refresh_token":"","error":"\#(word)"}"#)
        let played = PlayedServer(try PlayedServer.json(Self.code), pending, try PlayedServer.tokens())
        #expect(try signIn(played).hasRefreshToken)
    }

    /// The user opens the address, on any device: this program does not.
    @Test(arguments: [
        "https://login.example.com/#/device", "HTTPS://login.example.com/device", "http://127.0.0.1:8080/device",
    ])
    func aWebAddressIsShown(address: String) throws {
        let code = #"{"device_code":7,"user_code":8,"verification_uri":"\#(address)"}"#
        let played = PlayedServer(try PlayedServer.json(code), try PlayedServer.tokens())
        let shown = Mutex<String?>(nil)
        _ = try signIn(played) { step in
            shown.withLock { $0 = step.address }
            return nil
        }
        #expect(shown.withLock { $0 } == address)
        #expect(played.posted[1]["device_code"] == "7")
    }

    @Test(arguments: [
        "login.example.com/device", "javascript:alert(1)", "https://a b", "https://a\\u001b[2J", "https://\\u00fc.de",
    ])
    func anyOtherTextIsNotShown(address: String) throws {
        let code = #"{"device_code":"d","user_code":"u","verification_uri":"\#(address)"}"#
        let error = #expect(throws: TokenKeepError.self) { try signIn(PlayedServer(try PlayedServer.json(code))) }
        #expect(error?.status == .unavailable)
    }

    @Test func aFormBringsTheCode() throws {
        let answer = Self.response(
            200, "device_code=d&user_code=u&verification_uri=https%3A%2F%2Flogin.example.com&interval=2")
        let waits = Recorder()
        let played = PlayedServer(answer, try PlayedServer.tokens())
        _ = try signIn(played, waits: waits)
        #expect(waits.all == [2000])
    }

    @Test(arguments: [("expired_token", Status.timedOut), ("access_denied", .cancelled), ("invalid_grant", .denied)])
    func theServersWordsEndTheFlow(word: String, status: Status) throws {
        let played = PlayedServer(try PlayedServer.json(Self.code), try pending(word))
        let error = try #require(throws: TokenKeepError.self) { try signIn(played) }
        #expect(error.status == status)
    }

    static let odd: [HTTPResponse] = [
        response(200, "<html>Welcome to the hotel</html>"), response(200, ""), response(200, "{}"), response(204, ""),
        response(200, "{\"access_token\":null}"),
        response(302, ""), response(400, "<html>"), response(400, ""), response(403, "denied by mitigation"),
        response(404, "<html>"), response(407, ""), response(408, ""), response(421, ""), response(511, "<html>"),
        response(404, "{\"status\":404,\"error\":\"Not Found\"}"), response(400, "{\"error\":\"server_error\"}"),
        response(500, ""), response(503, "{\"error\":{\"code\":503}}"), response(429, ""),
        response(403, "{\"error\":{\"code\":\"blocked\"}}"), response(400, "{\"error\":{\"type\":\"access_denied\"}}"),
    ]

    private static func response(_ status: Int, _ body: String) -> HTTPResponse {
        guard let body = try? SecretBytes(body) else { preconditionFailure("no memory") }
        return HTTPResponse(status: status, body: body)
    }

    /// A proxy or a portal answers in the server's place: the user is still at the browser.
    @Test(arguments: odd) func anAnswerOfAProxyDoesNotEndTheFlow(answer: HTTPResponse) throws {
        let played = PlayedServer(
            try PlayedServer.json(Self.code), try pending("authorization_pending"), answer,
            try pending("authorization_pending"), try PlayedServer.tokens())
        let waits = Recorder()
        #expect(try signIn(played, waits: waits).hasRefreshToken)
        #expect(waits.all == [2000, 2000, 4000, 2000])
    }

    /// An endpoint that has never answered as a token endpoint is the wrong one.
    @Test(arguments: [response(404, "<html>"), response(200, "<html>")])
    func anEndpointThatNeverAnswersAsOneEndsTheFlow(answer: HTTPResponse) throws {
        let played = PlayedServer(try PlayedServer.json(Self.code), answer, answer, answer, answer, answer)
        let error = try #require(throws: TokenKeepError.self) { try signIn(played) }
        #expect(error.status == .unavailable)
        #expect(error.message == "the server answered the device's sign-in with status \(answer.status)")
        #expect(played.posted.count == 5)
    }

    @Test func anIntervalIsAnyNumber() throws {
        for (interval, wait) in [
            ("3.5", 3000), ("\"4\"", 4000), ("0", 1000), ("-2", 5000), ("null", 5000), ("1e9", 300_000),
        ] {
            let code = Self.code.replacing(#""interval":2"#, with: #""interval":\#(interval)"#)
            let waits = Recorder()
            _ = try signIn(PlayedServer(try PlayedServer.json(code), try PlayedServer.tokens()), waits: waits)
            #expect(waits.all == [UInt32(wait)])
        }
    }

    @Test func aServerThatAsksForEverToSlowDownIsAskedLessOftenUntilTheCodeEnds() throws {
        let code = try PlayedServer.json(Self.code.replacing(#""expires_in":600"#, with: #""expires_in":1"#))
        let slow = try pending("slow_down")
        var server = SignInServer(name: "test", clientID: "client") { endpoint, _, _ throws(TokenKeepError) in
            endpoint == .deviceAuthorization ? code : slow
        }
        server.hasDeviceFlow = true
        let waits = Recorder()
        var options = SignInOptions.test(.device)
        options.pause = { milliseconds, _ in waits.add(milliseconds) }
        let error = try #require(throws: TokenKeepError.self) {
            try SignIn.run(at: server, options, until: .patient) { _ throws(TokenKeepError) in nil
            }
        }
        #expect(error.status == .timedOut)
        #expect(waits.all.starts(with: [2000, 7000, 12_000]) && waits.all.max() == 300_000)
    }

    @Test func aFailureOfTheNetworkIsFollowedByALongerWait() throws {
        let code = try PlayedServer.json(Self.code)
        let tokens = try PlayedServer.tokens()
        let failures = Mutex<[Status]>([.timedOut, .unavailable])
        var server = SignInServer(name: "test", clientID: "client") { endpoint, _, _ throws(TokenKeepError) in
            guard endpoint == .polling else { return code }
            if let status = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                throw TokenKeepError(status, "no route to the server")
            }
            return tokens
        }
        server.hasDeviceFlow = true
        let waits = Recorder()
        var options = SignInOptions.test(.device)
        options.pause = { milliseconds, _ in waits.add(milliseconds) }
        let result = try SignIn.run(at: server, options, until: .patient) {
            _ throws(TokenKeepError) in nil
        }
        #expect(result.hasRefreshToken)
        #expect(waits.all == [2000, 4000, 8000])
    }

    @Test func anOverloadedServerIsAskedHalfAsOften() throws {
        let played = PlayedServer(
            try PlayedServer.json(Self.code), try PlayedServer.json("{}", status: 503), try PlayedServer.tokens())
        let waits = Recorder()
        _ = try signIn(played, waits: waits)
        #expect(waits.all == [2000, 4000])
    }

    @Test(arguments: [
        (503, "60", 60_000), (429, "3", 4000), (503, "Thu, 01 Jan 1970 00:10:09 GMT", 9000), (503, "soon", 4000),
        (503, "86400", 300_000), (500, "1.5", 4000),
    ])
    func aServerThatAsksToWaitIsLeftAlone(status: Int, header: String, wait: UInt32) throws {
        let busy = HTTPResponse(
            status: status, body: try SecretBytes(""), date: "Thu, 01 Jan 1970 00:10:00 GMT", retryAfter: header)
        let played = PlayedServer(
            try PlayedServer.json(Self.code), busy, try pending("authorization_pending"), try PlayedServer.tokens())
        let waits = Recorder()
        _ = try signIn(played, waits: waits)
        #expect(waits.all == [2000, wait, 2000])
    }

    @Test(arguments: [
        #"{"device_code":"d","user_code":"A\u001b[2J","verification_uri":"https://login.example.com/"}"#,
        #"{"device_code":"d","user_code":"A","verification_uri":"http://evil.example/"}"#,
        #"{"user_code":"A","verification_uri":"https://login.example.com/"}"#, "<html>",
    ])
    func aMalformedAnswerShowsNothing(answer: String) throws {
        let played = PlayedServer(try PlayedServer.json(answer))
        #expect(throws: TokenKeepError(.unavailable, "")) {
            try signIn(played) { _ in
                Issue.record("a step was shown")
                return nil
            }
        }
    }
}
