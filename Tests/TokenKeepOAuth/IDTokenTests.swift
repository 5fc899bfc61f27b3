import TestSupport
import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The claims of an ID token decide whether a sign-in counts.
@Suite struct IDTokenTests {
    /// The year 2100: a loaded machine runs a case many minutes after its arguments were made.
    private static let end: Int64 = 4_102_444_800

    /// Signs in by pasting; `claims` gets the nonce.
    private func signIn(
        scope: String?, date: String = "", clientID: String = "client", _ claims: (@Sendable (String) -> String)?
    ) throws(TokenKeepError) -> SignedIn {
        let nonce = NonceHolder()
        var server = PlayedServer().server
        server = SignInServer(name: "test", clientID: clientID) { _, _, _ throws(TokenKeepError) in
            let idToken = claims.map { #","id_token":"\#(jsonWebToken($0(nonce.value)))""# } ?? ""
            guard let answer = try? PlayedServer.tokens(idToken) else { throw TokenKeepError(.internal, "no answer") }
            return HTTPResponse(status: answer.status, body: answer.body, date: date)
        }
        server.issuer = "https://login.example.com"
        server.authorizationEndpoint = try WebAddress("https://login.example.com/authorize")
        return try SignIn.run(at: server, .test(.paste, scope: scope), until: .patient) {
            step throws(TokenKeepError) in
            let opened = OpenedAddress(step.address)
            nonce.value = opened.parameters["nonce"] ?? ""
            return try SecretBytes("\(opened.redirect)?code=c&state=\(opened.state)")
        }
    }

    private final class NonceHolder: @unchecked Sendable { var value = "" }

    @Test func theAccountIsTheFirstClaimThatNamesOne() throws {
        let result = try signIn(scope: "openid") {
            #"{"iss":"https://login.example.com","aud":"client","exp":\#(Self.end),"nonce":"\#($0)","sub":"1","email":"ann@x"}"#
        }
        #expect(result.account == "ann@x")
    }

    @Test(arguments: [
        (#""iss":"https://evil.example","aud":"client""#, "iss"),
        (#""iss":"https://login.example.com","aud":"other""#, "other"),
        (#""iss":"https://login.example.com","aud":"client","azp":"other""#, "azp"),
        (#""aud":"client""#, "iss"), (#""iss":"https://login.example.com""#, "expected client"),
    ])
    func anotherIssuerOrAudienceIsDenied(claims: String, named: String) throws {
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(scope: "openid") { #"{\#(claims),"exp":\#(Self.end),"nonce":"\#($0)"}"# }
        }
        #expect(error.status == .denied && error.message.contains(named))
    }

    @Test func anOldTokenAnotherNonceAndAMissingTokenAreDenied() throws {
        let start = #"{"iss":"https://login.example.com","aud":"client""#
        for claims: (@Sendable (String) -> String)? in [
            { #"\#(start),"exp":1000,"nonce":"\#($0)"}"# }, { _ in #"\#(start),"exp":\#(Self.end),"nonce":"x"}"# },
            { _ in #"\#(start),"exp":\#(Self.end)}"# }, nil,
        ] {
            let error = try #require(throws: TokenKeepError.self) { try signIn(scope: "openid", claims) }
            #expect(error.status == .denied)
        }
    }

    /// `exp` is any JSON number (RFC 7519 section 2).
    @Test(arguments: [
        "\(IDTokenTests.end).5", "\(IDTokenTests.end).0", "4.2e9", "\"\(IDTokenTests.end)\"", "99999999999999999999",
        "1e999",
    ])
    func theEndOfAnIDTokenIsAnyNumber(number: String) throws {
        let claims = #""iss":"https://login.example.com","aud":"client","sub":"1","exp":\#(number)"#
        #expect(try signIn(scope: "openid") { #"{\#(claims),"nonce":"\#($0)"}"# }.account == "1")
    }

    /// OpenID Connect Core with errata set 2, section 3.1.3.7: a party need not be named, and other members are anybody's.
    @Test(arguments: [
        #""aud":["client","other"]"#, #""aud":["client"],"azp":"client","iat":1e999"#,
        #""aud":"client","iat":"soon","at_hash":"x","name":"\ud83d","name":"\u0000""#,
        #""aud":"client","iss":"https://login.example.com""#, #""aud":"client","azp":"""#,
    ])
    func whatCoreDoesNotForbidIsNoReasonToRefuse(claims: String) throws {
        let all = #""iss":"https://login.example.com","sub":"1","exp":\#(Self.end),\#(claims)"#
        #expect(try signIn(scope: "openid") { #"{\#(all),"nonce":"\#($0)"}"# }.account == "1")
    }

    @Test(arguments: ["null", "true", "0", "-1", "\"soon\"", "-1e999"])
    func anIDTokenThatDoesNotSayWhenItEndsIsDenied(number: String) throws {
        let claims = #""iss":"https://login.example.com","aud":"client","exp":\#(number)"#
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(scope: "openid") { #"{\#(claims),"nonce":"\#($0)"}"# }
        }
        #expect(error.status == .denied && error.message.contains("does not say when it ends"))
    }

    /// The machine's clock may be wrong; the server's header Date says by how much. A gateway's Date may be wrong, too.
    @Test func aTokenIsValidByTheServersClockOrByThisMachines() throws {
        func claims(_ end: Int64) -> @Sendable (String) -> String {
            { #"{"iss":"https://login.example.com","aud":"client","exp":\#(end),"nonce":"\#($0)"}"# }
        }
        _ = try signIn(scope: "openid", date: "Thu, 01 Jan 1970 00:10:00 GMT", claims(1000))
        _ = try signIn(scope: "openid", date: "Fri, 31 Dec 9999 00:00:00 GMT", claims(Self.end))
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(scope: "openid", date: "Thu, 01 Jan 1970 01:00:00 GMT", claims(1000))
        }
        #expect(
            error.message.hasPrefix(
                "the ID token is over, since 2600 s by the server's clock (the header Date), since "))
        #expect(error.message.hasSuffix("by this machine's; a clock may be wrong"))
        let withoutDate = try #require(throws: TokenKeepError.self) { try signIn(scope: "openid", claims(1000)) }
        #expect(withoutDate.message.hasSuffix(" by this machine's clock; a clock may be wrong"))
    }

    /// Of a client with a numeric ID.
    @Test(arguments: ["12", #""12""#, "[12]", #"["7",12]"#])
    func anAudienceMayBeANumber(audience: String) throws {
        let claims = #""iss":"https://login.example.com","sub":"1","exp":\#(Self.end),"aud":\#(audience)"#
        #expect(try signIn(scope: "openid", clientID: "12") { #"{\#(claims),"nonce":"\#($0)"}"# }.account == "1")
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(scope: "openid") { #"{\#(claims),"nonce":"\#($0)"}"# }
        }
        #expect(error.message.contains("12\", expected client"))
    }

    @Test func withoutOpenidNoIDTokenIsNeeded() throws {
        #expect(try signIn(scope: "read", nil).account == nil)
    }
}
