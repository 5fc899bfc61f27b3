import CSodium
import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// The claims of access and ID tokens: the end of the one, the person of the other.
struct TokenClaimTests {
    private let world = SessionWorld()
    private static let now: Int64 = 1_800_000_000

    private func begin(_ session: SessionEngine, _ more: String) throws {
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a","refresh_token":"r"\#(more)}"#))
    }

    private static func idToken(_ claims: String) -> String { #","id_token":"\#(jsonWebToken("{\(claims)}"))""# }

    /// A session, and what the server answers to its refresh.
    private func session(_ first: String, then second: String) throws -> SessionEngine {
        let session = try world.session()
        try begin(session, first)
        world.server.next(.says(200, [:], #"{"access_token":"new","refresh_token":"next"\#(second)}"#))
        return session
    }

    private func stored() throws -> SessionRecord {
        let item = try world.store().load(service: "api.example.com", account: "ann")
        return try SessionRecord(item.secret, now: SessionTime(wall: Self.now, boottime: 1000, boot: "one"))
    }

    /// The answer that could not be read, as the record keeps it.
    private func unread() throws -> String? {
        try stored().json["unread"]?.text.flatMap { Data(base64Encoded: $0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    // MARK: The end of an access token

    @Test(arguments: [
        ("1800000060", 60), ("1800000060.9", 60), ("1.80000006e9", 60), (#""1800000060""#, 60), ("1799999940", 0),
        ("1e999", nil), ("0", nil), ("-5", nil), ("true", nil), ("null", nil),
    ])
    func withoutALifetimeATokenEndsAsItsClaimSays(end: String, seconds: Int64?) throws {
        let session = try world.session(sends: false)
        let token = jsonWebToken(#"{"exp":\#(end)}"#)
        try session.begin(.user, response: SecretBytes(#"{"access_token":"\#(token)","refresh_token":"r"}"#))
        #expect(try stored().life.lifetime == seconds)
    }

    @Test func aLifetimeCountsMoreThanAClaim() throws {
        let session = try world.session(sends: false)
        let token = jsonWebToken(#"{"exp":1800000060}"#)
        try session.begin(.user, response: SecretBytes(#"{"access_token":"\#(token)","expires_in":600}"#))
        #expect(try session.token().secondsLeft == 600)
    }

    /// A bare token, and one that another program stored.
    @Test func aTokenFromElsewhereEndsAsItsClaimSays() throws {
        let session = try world.session(sends: false)
        try session.begin(rawToken: SecretBytes(jsonWebToken(#"{"exp":1800000060}"#)))
        #expect(try session.token().secondsLeft == 60)
        let store = try world.store()
        let record = #"{"accessToken":"\#(jsonWebToken(#"{"exp":1800000090}"#))"}"#
        _ = try store.save(
            SaveRequest(name: ItemName(service: "api.example.com", account: "bob"), secret: SecretBytes(record)))
        #expect(try world.session("bob", sends: false).token().secondsLeft == 90)
    }

    /// The claim is of the server's clock, which the header Date shows.
    @Test func theClaimOfARenewedTokenIsReadByTheServersClock() throws {
        let session = try world.signedIn()
        let token = jsonWebToken(#"{"exp":\#(Self.now + 7200 + 600)}"#)
        let date = "Fri, 15 Jan 2027 10:00:00 GMT"  // two hours ahead
        world.server.next(.says(200, ["Date": date], #"{"access_token":"\#(token)"}"#))
        #expect(try session.refresh().secondsLeft == 600)
    }

    @Test(arguments: [
        sodium_base64_VARIANT_URLSAFE_NO_PADDING, sodium_base64_VARIANT_URLSAFE, sodium_base64_VARIANT_ORIGINAL,
        sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
    ])
    func claimsAreReadInEveryAlphabetOfBase64(variant: Int32) throws {
        for name in ["ann", "ann?", "ann?>", "\u{3FF}\u{3FF}>"] {
            let token = try SecretBytes(jsonWebToken(#"{"sub":"\#(name)"}"#, variant: variant))
            #expect(UnverifiedClaims(unverified: token)?.unverified("sub") == name)
        }
    }

    @Test func aNumberBeyond64BitsIsTheTextOfAClaim() throws {
        let token = try SecretBytes(jsonWebToken(#"{"sub":123456789012345678901,"x":1e999}"#))
        #expect(UnverifiedClaims(unverified: token)?.unverified("sub") == "123456789012345678901")
    }

    // MARK: The person of an ID token

    private static let ann = idToken(#""iss":"https://login.example.com","sub":"ann-1""#)

    @Test(arguments: [
        #""iss":"https://login.example.com","sub":"bob-2""#, #""iss":"https://evil.example","sub":"ann-1""#,
        #""sub":"bob-2""#, #""iss":"https://login.example.com/","sub":"ann-1""#,
    ])
    func tokensOfAnotherPersonAreNeverGivenOut(claims: String) throws {
        let session = try session(Self.ann, then: Self.idToken(claims))
        let error = try #require(throws: TokenKeepError.self) { try session.refresh() }
        #expect(error.status == .needsLogin && error.message.contains("(other-subject)"))
        #expect(try session.info().state == .needsLogin)
        #expect(try session.info().reason.word == "other-subject")
        #expect(throws: TokenKeepError(.needsLogin, "")) { try world.session().token() }
        #expect(try stored().accessToken.utf8String == "a")
        // The stranger's grant is revoked.
        #expect(try session.outbox.flush().sent == 1)
        #expect(world.server.revoked == ["next"])
        try begin(session, Self.ann)
        #expect(try session.token().text == "a")
    }

    @Test func anAccessTokenOfAnotherPersonIsRevokedWithoutTheOldRefreshToken() throws {
        let session = try world.session()
        try begin(session, Self.ann)
        world.server.next(.says(200, [:], #"{"access_token":"new"\#(Self.idToken(#""sub":"bob-2""#))}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
        _ = try session.outbox.flush()
        #expect(world.server.revoked == ["new"])
    }

    static let harmless: [String] = [
        "", idToken(#""iss":"https://login.example.com","sub":"ann-1","aud":"other""#), idToken(#""sub":"ann-1""#),
        idToken(#""aud":"x""#), #","id_token":"opaque""#, #","id_token":7"#, #","id_token":null"#,
    ]

    @Test(arguments: harmless) func tokensThatDoNotNameAnotherPersonAreTaken(second: String) throws {
        let session = try session(Self.ann, then: second)
        #expect(try session.refresh().text == "new")
    }

    @Test func thePersonIsThatOfTheFirstIDToken() throws {
        let session = try session("", then: Self.ann)
        #expect(try session.refresh().text == "new")
        world.server.next(.says(200, [:], #"{"access_token":"other"\#(Self.idToken(#""sub":"bob-2""#))}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
    }

    /// An ID token that nobody can read, or one without a subject, does not make the session forget whose it is.
    @Test func thePersonIsKnownAfterAnUnreadableIDToken() throws {
        let session = try session(Self.ann, then: #","id_token":"opaque""#)
        #expect(try session.refresh().text == "new")
        world.server.next(.says(200, [:], #"{"access_token":"other"\#(Self.idToken(#""sub":"bob-2""#))}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
    }

    @Test func anIDTokenThatCannotBeReadDoesNotReplaceOneThatCan() throws {
        let session = try session(Self.ann, then: #","id_token":"opaque""#)
        _ = try session.refresh()
        #expect(UnverifiedClaims(unverified: try #require(try session.sealed().idToken))?.unverified("sub") == "ann-1")
        try begin(session, #","id_token":"opaque""#)
        world.server.next(.says(200, [:], #"{"access_token":"new","refresh_token":"next","id_token":"other"}"#))
        _ = try session.refresh()
        #expect(try session.sealed().idToken?.utf8String == "other")
    }

    /// As an access token that is shorter than what was asked for.
    @Test func anIDTokenThatIsShorterThanAskedForIsNotRenewedByEachCall() throws {
        func idToken() -> String { Self.idToken(#""sub":"ann-1","exp":\#(world.time.wall + 600)"#) }
        let session = try session(#","expires_in":36000\#(idToken())"#, then: "")
        for seconds in [0, 29, 1, 29, 1] {
            world.move(seconds: Int64(seconds))
            world.server.next(
                .says(200, [:], #"{"access_token":"new","refresh_token":"next","expires_in":36000\#(idToken())}"#))
            let token = try SessionIDToken.fresh(of: session, minTTL: 3600)
            #expect(token.isShort && token.lifetime == 600)
        }
        #expect(world.server.requests.count == 2)
        let token = try SessionIDToken.fresh(of: session, minTTL: 60)
        #expect(!token.isShort && token.secondsLeft == 600)
        #expect(world.server.requests.count == 2)
    }

    /// The claim is of the server's clock.
    @Test func anIDTokenEndsByTheServersClock() throws {
        let session = try session("", then: "")
        let idToken = Self.idToken(#""sub":"ann-1","exp":\#(Self.now + 7200 + 600)"#)
        let date = "Fri, 15 Jan 2027 10:00:00 GMT"  // two hours ahead
        world.server.next(.says(200, ["Date": date], #"{"access_token":"new"\#(idToken)}"#))
        _ = try session.refresh()
        #expect(try SessionIDToken.fresh(of: session, minTTL: 0).secondsLeft == 600)
    }

    /// Google writes its issuer with or without the scheme (OpenID Connect Core section 15.6).
    @Test func googlesIssuerIsTheSameWithAndWithoutItsScheme() throws {
        let session = try session(
            Self.idToken(#""iss":"https://accounts.google.com","sub":"1""#),
            then: Self.idToken(#""iss":"accounts.google.com","sub":1"#))
        #expect(try session.refresh().text == "new")
    }

    @Test func anExtensionForAnotherPersonEndsTheSessionToo() throws {
        let session = try world.signedIn()
        try begin(session, Self.ann)
        world.server.become(.says(200, [:], #"{"access_token":"new"\#(Self.idToken(#""sub":"bob-2""#))}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.extend(by: 600) }
        #expect(try session.info().reason.word == "other-subject")
    }

    /// A record that is too long loses its ID token, and keeps whose it is.
    @Test func aRecordWithoutRoomForItsIDTokenKeepsThePerson() throws {
        let session = try session(Self.ann, then: #","extra":"\#(String(repeating: "x", count: 262_000))""#)
        #expect(try session.refresh().text == "new")
        world.server.next(.says(200, [:], #"{"access_token":"other"\#(Self.idToken(#""sub":"bob-2""#))}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
    }

    // MARK: Types and members

    @Test(arguments: [#""Bearer""#, #""bearer ""#, #""BearerToken""#, #""""#, "null"])
    func aTypeThatMeansBearerIsTaken(type: String) throws {
        let session = try session("", then: #","token_type":\#(type)"#)
        #expect(try session.refresh().text == "new")
        try begin(session, #","token_type":\#(type)"#)
        #expect(try session.token().type == "Bearer")
    }

    @Test(arguments: [#""mac""#, #""N_A""#, #""DPoP""#, "7", "[]"])
    func aTokenOfAnotherTypeIsNotUsedAndTheNewRefreshTokenIsKept(type: String) throws {
        let session = try session(#","expires_in":3600"#, then: #","token_type":\#(type)"#)
        let error = #expect(throws: TokenKeepError.self) { try session.refresh() }
        #expect(error?.status == .unavailable)
        #expect(error?.message == "the session was not renewed: the token_type of its answer is not Bearer")
        #expect(try session.token().text == "a")
        #expect(try stored().refreshToken?.utf8String == "next")
    }

    @Test(arguments: ["mac", "DPoP"])
    func aStoredTokenOfAnotherTypeIsUnsupported(type: String) throws {
        let record = #"{"tokenkeep_session":1,"access_token":"a","token_type":"\#(type)"}"#
        _ = try world.store().save(
            SaveRequest(name: ItemName(service: "api.example.com", account: "ann"), secret: SecretBytes(record)))
        let error = #expect(throws: TokenKeepError.self) { try world.session().token() }
        #expect(error?.status == .unsupported)
        #expect(error?.message == "the token_type of the session of api.example.com (ann) is not Bearer")
    }

    @Test(arguments: [
        #","refresh_token":null,"id_token":null,"scope":null,"token_type":null,"expires_in":null"#,
        #","refresh_token":"","id_token":"","scope":"","token_type":"""#,
    ])
    func anEmptyMemberCountsAsMissing(more: String) throws {
        let session = try world.session(sends: false)
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a"\#(more)}"#))
        #expect(try session.token().text == "a")
        #expect(try !session.info().canRenew)
    }

    @Test func scopesMayBeAnArray() throws {
        let session = try world.session(sends: false)
        try begin(session, #","scope":["read","write"]"#)
        #expect(try session.token().scope == "read write")
    }

    @Test func aTokenFromElsewhereIsUTF8() throws {
        let token = try SecretBytes(bytes: [0x61, 0xFF])
        let error = #expect(throws: TokenKeepError.self) {
            try world.session(sends: false).hydrate(accessToken: token, refreshToken: token, expiresIn: nil)
        }
        #expect(error?.message == "the member access_token is not UTF-8")
    }

    // MARK: Bare tokens

    @Test(arguments: [
        "\u{FEFF}tok", " tok ", "tok \r\n", "Bearer tok", "bearer  tok", "\u{FEFF} Bearer tok\n",
        "Authorization: Bearer tok",
    ])
    func whatSurroundsABareTokenIsNoPartOfIt(input: String) throws {
        let session = try world.session(sends: false)
        try session.begin(rawToken: SecretBytes(input))
        #expect(try session.token().text == "tok")
        let renewing = try world.signedIn("eve")
        #expect(try renewing.rejected(SecretBytes(input.replacing("tok", with: "access-1"))).text == "access-2")
    }

    @Test(arguments: [
        "", " ", "\u{FEFF}", "a b", "a\nb", "\"tok\"", "tok\u{200B}", "\u{A0}tok",
        "t\0o\0k\0",
        #"{"access_token":"a"}"#, "Bearer", "Bearer \n", "Authorization: Bearer ",
    ])
    func whatIsNoBareTokenIsRefused(input: String) throws {
        let error = #expect(throws: TokenKeepError.self) {
            try world.session(sends: false).begin(rawToken: SecretBytes(input))
        }
        #expect(error?.status == .invalid)
        #expect(error?.message == "the token is empty, or has characters that no token has")
    }

    /// The caller would try the refused token again and again.
    @Test(arguments: ["\"access-1\"", "Bearer", "\"access-0\"", "access\n1"]) func whatIsNoTokenWasNotRefused(
        input: String
    ) throws {
        let session = try world.signedIn()
        let error = #expect(throws: TokenKeepError.self) { try session.rejected(SecretBytes(input)) }
        #expect(error?.status == .invalid)
        #expect(error?.message == "what was refused is no token, and not the session's")
        #expect(try session.token().text == "access-1")
    }

    // MARK: Answers that cannot be read

    private static let page = "<html>Welcome to the hotel</html>"

    @Test func anAnswerThatCannotBeReadIsKeptUntilTheNextTokens() throws {
        let session = try world.signedIn()
        for body in ["{\"refresh_token\":\"cut", Self.page, #"{"refresh_tokens":["next"]}"#] {
            world.server.next(.says(200, [:], body))
            #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
            #expect(try unread() == body)
            #expect(try stored().refreshToken?.utf8String == "refresh-1")
            try session.begin(.user, response: SecretBytes(world.server.signIn))
            #expect(try unread() == nil)
        }
        world.server.next(.says(200, [:], Self.page))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        world.move(seconds: 3601)
        #expect(try session.token().text == "access-2")
        #expect(try unread() == nil)
    }

    @Test(arguments: [(200, ""), (500, TokenClaimTests.page), (302, TokenClaimTests.page), (400, TokenClaimTests.page)])
    func anAnswerThatHasNoTokensIsNotKept(status: Int, body: String) throws {
        let session = try world.signedIn(rotation: .none)
        world.server.next(.says(status, [:], body))
        _ = try? session.refresh()
        #expect(try unread() == nil)
    }

    @Test func aLongPageIsNotKept() throws {
        let session = try world.signedIn(rotation: .none)
        world.server.next(.says(200, [:], String(repeating: "x", count: 98_305)))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(try unread() == nil)
    }
}
