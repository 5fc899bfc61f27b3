import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// Answers of servers and of what stands before them, and bad token responses.
struct AnswerTests {
    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int
        let body: String
        var headers: [String: String] = [:]
        var testDescription: String { name }
    }

    private static let tokens = #"{"access_token":"stranger","refresh_token":"stranger","expires_in":3600}"#

    /// Answers after which the server may, or may not, have used the refresh token.
    static let unknown = [
        Answer(name: "500", status: 500, body: ""),
        Answer(name: "500 with tokens", status: 500, body: tokens),
        Answer(name: "502", status: 502, body: "<html>Bad Gateway</html>"),
        Answer(name: "504", status: 504, body: ""),
        Answer(name: "a redirect", status: 302, body: "", headers: ["Location": "https://login.example.org/"]),
        Answer(name: "a redirect with tokens", status: 307, body: tokens),
        Answer(name: "a captive portal", status: 200, body: "<html><h1>Welcome to the airport</h1></html>"),
        Answer(name: "network login required", status: 511, body: "<html></html>"),
        Answer(name: "nothing", status: 200, body: ""),
        Answer(name: "neither JSON nor a form", status: 200, body: "<a href=/?access_token=a&refresh_token=b>"),
        Answer(name: "cut short", status: 200, body: String(tokens.dropLast(9))),
        Answer(name: "an array", status: 200, body: "[\(tokens)]"),
        Answer(name: "no tokens", status: 200, body: #"{"expires_in":3600}"#),
        Answer(name: "tokens that are numbers", status: 200, body: #"{"access_token":1,"refresh_token":2}"#),
        Answer(name: "a control character", status: 200, body: #"{"access_token":"a\nb"}"#),
        Answer(name: "a NUL", status: 200, body: "{\"access_token\":\"a\\u0000b\"}"),
        Answer(name: "deep nesting that does not end", status: 200, body: String(nested(100_000).dropLast(50_000))),
        Answer(name: "256 KiB and a byte", status: 200, body: tokens + spaces(262_145 - tokens.utf8.count)),
        Answer(name: "10 MiB", status: 200, body: tokens + spaces(10 << 20)),
        Answer(name: "a refusal of another kind", status: 400, body: #"{"error":"invalid_request"}"#),
        Answer(
            name: "a refusal in words", status: 400, body: #"{"error":"invalid_request","error_description":"expired"}"#
        ),
        Answer(name: "a gateway's page", status: 403, body: "<html>invalid_grant</html>"),
        Answer(name: "a gateway's error", status: 403, body: #"{"error":{"code":"invalid_grant"}}"#),
        Answer(name: "a gateway's refusal", status: 404, body: #"{"error":"Not Found"}"#),
        Answer(name: "a refusal with a server's error", status: 500, body: #"{"error":"invalid_grant"}"#),
        Answer(name: "a redirect with a refusal", status: 302, body: #"{"error":"invalid_grant"}"#),
    ]

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
    private static func nested(_ depth: Int) -> String {
        #"{"access_token":"a","deep":"# + String(repeating: "[", count: depth)
            + String(repeating: "]", count: depth) + "}"
    }

    private let world = SessionWorld()

    /// The record without an answer that could not be read.
    private func record() throws -> SecretBytes {
        let secret = try world.store().load(service: "api.example.com", account: "ann").secret
        let json = try #require(secret.withUnsafeBytes { JSONValue(parsing: $0) })
        json.remove("unread")
        return try json.serialized()
    }

    /// Nobody is signed out, the record's tokens stay, and a valid token is used meanwhile.
    @Test(arguments: unknown, [RotationProfile.strict, .overlap(seconds: 60), .none])
    func anAnswerThatSaysNothingSignsNobodyOut(answer: Answer, rotation: RotationProfile) throws {
        let session = try world.signedIn(rotation: rotation)
        let before = try record()
        world.move(seconds: 3400)
        world.server.next(.says(answer.status, answer.headers, answer.body))
        #expect(try session.token().text == "access-1")
        #expect(try session.info().state == .user)
        #expect(try record() == before)
        // The server had not used the token.
        world.move(seconds: 201)
        #expect(try session.token().text == "access-2")
    }

    /// After the token's end the call says that the server did not answer; it signs nobody out.
    @Test(arguments: unknown) func anAnswerThatSaysNothingIsUnavailable(answer: Answer) throws {
        let session = try world.signedIn(rotation: .none, lifetime: 0)
        world.server.next(.says(answer.status, answer.headers, answer.body))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token() }
        #expect(try session.info().state == .user)
        world.server.set(lifetime: 3600)
        #expect(try session.token().text == "access-2")
    }

    /// Seconds to wait, by status and Retry-After; the wall clock is at 2027-01-15 08:56:40 GMT.
    @Test(
        arguments: [429, 503],
        [
            ("120", 120), ("Fri, 15 Jan 2027 08:58:40 GMT", 120), ("Fri, 15 Jan 2027 07:00:00 GMT", 0), ("soon", 30),
            ("-5", 30), ("1.5", 2), ("", 30), ("3600.5", 3601), ("3600, 60", 3600), ("60,3600", 3600), ("60, soon", 30),
            ("1.", 1), (".5", 30), ("Friday, 15-Jan-27 08:58:40 GMT", 120), ("Fri Jan 15 08:58:40 2027", 120),
            ("Fri, 15 Jan 2027 08:58:40 +0000", 120), ("Fri, 15 Jan 2027 08:58:40 UTC", 120),
            (nil, 30), ("315360000", 86_400), ("99999999999999999999", 86_400),
            ("Tue, 24 Nov 2037 03:00:00 GMT", 86_400),
        ])
    func aServerThatAsksToWaitIsLeftAlone(status: Int, header: (value: String?, wait: Int64)) throws {
        let session = try world.signedIn(rotation: .none)
        world.move(seconds: 3400)
        let headers = header.value.map { ["Retry-After": $0] } ?? [:]
        world.server.next(.says(status, headers, ""))
        guard header.wait > 5 else {
            #expect(try session.token().text == "access-2", "a short wait is waited for")
            return
        }
        #expect(try session.token().text == "access-1")
        let requests = world.server.requests.count
        #expect(try session.storage.note()?.coolDownUntil == 1_800_003_400 + header.wait)
        #expect(try world.session(rotation: .none).token().text == "access-1")
        #expect(world.server.requests.count == requests, "it was asked again")
    }

    /// A gateway in front of the server has the same words.
    @Test(arguments: [
        Answer(name: "its session", status: 401, body: #"{"error":"session_expired"}"#),
        Answer(name: "its sign-in", status: 200, body: #"{"error":"login_required"}"#),
        Answer(name: "its sign-in, elsewhere", status: 407, body: #"{"error":"login_required"}"#),
        Answer(name: "its object", status: 401, body: #"{"error":{"code":1},"error_code":"session_expired"}"#),
    ])
    func theWordsOfAGatewaySignNobodyOut(answer: Answer) throws {
        let session = try world.signedIn()
        world.server.next(.says(answer.status, [:], answer.body))
        _ = try? session.refresh()
        #expect(try session.info().state == .user)
    }

    /// Auth0 refuses with 403, Supabase with 403 and 404, Slack with 200.
    @Test(arguments: [
        Answer(name: "Auth0", status: 403, body: #"{"error":"invalid_grant","error_description":"Unknown token."}"#),
        Answer(name: "Supabase", status: 403, body: #"{"code":403,"error_code":"session_not_found","msg":"gone"}"#),
        Answer(
            name: "Supabase since 2024", status: 400, body: #"{"code":"refresh_token_not_found","message":"Not Found"}"#
        ),
        Answer(name: "Supabase, as RFC 6749", status: 400, body: #"{"error_code":"invalid_grant"}"#),
        Answer(name: "404", status: 404, body: #"{"error":"invalid_grant"}"#),
        Answer(name: "410", status: 410, body: #"{"error":"invalid_grant"}"#),
        Answer(name: "capital letters", status: 400, body: #"{"error":"INVALID_GRANT"}"#),
        Answer(name: "an object in capital letters", status: 400, body: #"{"error":{"code":"Invalid_Grant"}}"#),
        Answer(name: "Slack", status: 200, body: #"{"ok":false,"error":"invalid_refresh_token"}"#),
    ])
    func aRefusalOfTheRefreshTokenIsUnderstoodWithEachStatusOfAClientsError(answer: Answer) throws {
        let session = try world.signedIn()
        world.server.next(.says(answer.status, [:], answer.body))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
        #expect(try session.info().reason == .refused)
    }

    @Test(arguments: [
        (#"{"errorCode":"E0000011","errorSummary":"It is expired."}"#, "E0000011: It is expired."),
        (#"{"__type":"NotAuthorizedException","message":"It has expired"}"#, "NotAuthorizedException: It has expired"),
        (#"{"message":"Bad Request","code":"over_quota"}"#, "over_quota: Bad Request"),
        (#"{"code":"4/0Ab_secret","scope":"email"}"#, ""),
        (#"{"message":"no","code":"4/0Ab_secret"}"#, "no"),
    ])
    func theWordsOfOtherFormsAreShown(body: String, words: String) throws {
        let json = try #require(try SecretBytes(body).withUnsafeBytes { JSONValue.answer($0) })
        #expect(ServerWords.text(json, hiding: nil) == words)
        let session = try world.signedIn()
        world.server.next(.says(400, [:], body))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(try session.info().state == .user)
    }

    @Test func anErrorWithWhichASessionShouldBeginIsShown() throws {
        let error = #expect(throws: TokenKeepError.self) {
            try world.session().begin(.user, response: SecretBytes("error=bad_code&error_description=It+is+wrong"))
        }
        #expect(error?.message == "the token response is an error: bad_code: It is wrong")
        let other = #expect(throws: TokenKeepError.self) {
            try world.session().begin(.user, response: SecretBytes(#"{"code":"4/0Ab_secret","message":"m"}"#))
        }
        #expect(other?.message == "the token response has no access_token")
    }

    @Test(arguments: [
        (403, "unauthorized_client"), (404, "invalid_client"), (400, "INVALID_SCOPE"), (403, "invalid_resource"),
    ])
    func aRefusalOfTheClientIsUnderstoodWithEachStatusOfAClientsError(status: Int, code: String) throws {
        let session = try world.signedIn()
        world.server.next(.says(status, [:], #"{"error":"\#(code)"}"#))
        #expect(throws: TokenKeepError(.denied, "")) { try session.refresh() }
        #expect(try session.token().text == "access-1")
    }

    @Test(
        arguments: [
            ("[]", "a JSON object"), ("{}", "access_token"), (#"{"access_token":""}"#, "access_token"),
            (#"{"access_token":7}"#, "access_token"), (#"{"access_token":"a\tb"}"#, "access_token"),
            (#"{"access_token":"a","refresh_token":"a\u007f"}"#, "refresh_token"),
            (#"{"access_token":"a","id_token":["x"]}"#, "id_token"),
            (#"{"access_token":"a","token_type":"mac"}"#, "token_type"),
            (#"{"access_token":"a","token_type":7}"#, "token_type"),
            ("<html>", "neither a JSON object nor a form"), ("{\"access_token\":\"a\\u0000\"}", "access_token"),
            (#"{"access_token":"a"}"# + spaces(262_145), "256 KiB"),
        ])
    func aBadTokenResponseIsNamedAndChangesNothing(response: String, word: String) throws {
        let session = try world.signedIn()
        let before = try world.store().load(service: "api.example.com", account: "ann").secret
        let error = #expect(throws: TokenKeepError.self) {
            try session.begin(.user, response: SecretBytes(response))
        }
        #expect(error?.status == .invalid && error?.message.contains(word) == true, "\(error?.message ?? "")")
        #expect(try world.store().load(service: "api.example.com", account: "ann").secret == before)
        #expect(try session.token().text == "access-1")
    }

    @Test(arguments: ["bearer", "Bearer", "BEARER"])
    func aTokenHasTheTypeAsTheHeaderWritesItHoweverTheServerDoes(_ spelling: String) throws {
        let session = try world.session()
        try session.begin(
            .user, response: SecretBytes(#"{"access_token":"a","token_type":"\#(spelling)","expires_in":60}"#))
        #expect(try session.token().type == "Bearer")
    }

    /// A revocation ends with a success (RFC 7009 section 2.2), or if the token is invalid already.
    @Test(arguments: [
        (200, "ok"), (202, ""), (204, ""), (200, "{}"), (200, #"{"error":null}"#), (200, #"{"error":""}"#),
        (400, #"{"error":"invalid_token","error_description":"Token expired or revoked"}"#),
    ])
    func anySuccessAndAnInvalidTokenEndARevocation(status: Int, body: String) throws {
        let session = try world.signedIn()
        world.server.become(.says(status, [:], body))
        #expect(try session.end().revocation == .done)
    }

    @Test(arguments: [200, 202, 400, 401, 404, 500, 503, 302])
    func aRevocationThatFailsIsTriedAgainForDays(status: Int) throws {
        let session = try world.signedIn()
        world.server.become(.says(status, [:], #"{"error":"unsupported_token_type"}"#))
        #expect(try session.end().revocation == .queued)
        let outbox = Outbox(try world.store(), session.options)
        for _ in 0..<29 {
            world.move(seconds: 86_400)
            #expect(try outbox.flush().left == 1)
        }
        world.server.become(.answers)
        world.move(seconds: 3600)
        #expect(try outbox.flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1"])
    }
}
