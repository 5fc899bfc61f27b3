import CSodium
import Glibc
import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The claims of an ID token decide whether a sign-in counts.
@Suite struct IDTokenTests {
    private static let end = Int64(time(nil)) + 600

    private func token(_ claims: String) -> String {
        let encode = { (text: String) -> String in
            let bytes = Array(text.utf8)
            var encoded = [CChar](repeating: 0, count: bytes.count * 2 + 8)
            sodium_bin2base64(
                &encoded, encoded.count, bytes, bytes.count, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
            return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return "\(encode(#"{"alg":"RS256"}"#)).\(encode(claims)).c2ln"
    }

    /// Signs in by pasting; `claims` gets the nonce.
    private func signIn(scope: String?, _ claims: (@Sendable (String) -> String)?) throws(TokenKeepError) -> SignedIn {
        let nonce = NonceHolder()
        var server = PlayedServer().server
        server = SignInServer(name: "test", clientID: "client") { _, _, _ throws(TokenKeepError) in
            let idToken = claims.map { #","id_token":"\#(token($0(nonce.value)))""# } ?? ""
            guard let answer = try? PlayedServer.tokens(idToken) else { throw TokenKeepError(.internal, "no answer") }
            return answer
        }
        server.issuer = "https://login.example.com"
        server.authorizationEndpoint = try WebAddress("https://login.example.com/authorize")
        return try SignIn.run(at: server, .test(.paste, scope: scope), until: Deadline(milliseconds: 30_000)) {
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
        (#""iss":"https://login.example.com","aud":["client","other"]"#, "azp"),
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

    @Test func withoutOpenidNoIDTokenIsNeeded() throws {
        #expect(try signIn(scope: "read", nil).account == nil)
    }
}
