import Foundation
import Testing

@testable import TokenKeepFoundation

@Suite struct ClaimsTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func jwt(_ claims: String) -> String {
        let payload = Data(claims.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "eyJhbGciOiJub25lIn0.\(payload).sig"
    }

    @Test func subjectAndEndAreRead() throws {
        // The characters make - and _ of base64url.
        let claims = try #require(UnverifiedClaims(jwt: jwt(#"{"sub":"änn?>~ÿ","exp":1800003600.5}"#)))
        #expect(claims.subject == "änn?>~ÿ")
        #expect(claims.expiresAt == Date(timeIntervalSince1970: 1_800_003_600.5))
    }

    @Test func everyClaimIsRead() throws {
        let claims = try #require(
            UnverifiedClaims(
                jwt: jwt(
                    #"{"roles":["admin",7],"email_verified":true,"org":{"id":"o-1"},"nbf":1800000000,"ratio":0.5,"gone":null}"#
                )))
        #expect(
            claims.claims == [
                "roles": .array([.string("admin"), .integer(7)]), "email_verified": .bool(true),
                "org": .object(["id": .string("o-1")]), "nbf": .integer(1_800_000_000), "ratio": .double(0.5),
                "gone": .null,
            ])
        #expect(claims.claims["nbf"]?.number == 1_800_000_000)
        #expect(claims.claims["roles"]?.text == nil)
    }

    @Test(arguments: ["opaque", "a.b", "a.!!!.c", "", "..", "a.bm90IGpzb24.c"])
    func whatIsNoTokenIsNil(_ text: String) { #expect(UnverifiedClaims(jwt: text) == nil) }

    @Test func theBufferIsFiveMinutes() throws {
        let claims = try #require(UnverifiedClaims(jwt: jwt(#"{"exp":1800000300}"#)))
        #expect(!claims.isExpired(skew: .seconds(300), at: now))
        #expect(claims.isExpired(skew: .seconds(300), at: now.addingTimeInterval(1)))
        #expect(!claims.isExpired(skew: .zero, at: now.addingTimeInterval(299)))
    }

    @Test func aShortLifeHasABufferOfAThird() throws {
        let claims = try #require(UnverifiedClaims(jwt: jwt(#"{"iat":1800000000,"exp":1800000060}"#)))
        #expect(!claims.isExpired(skew: .seconds(300), at: now.addingTimeInterval(39)))
        #expect(claims.isExpired(skew: .seconds(300), at: now.addingTimeInterval(41)))
    }

    @Test func aTokenWithoutAnEndIsExpired() throws {
        let claims = try #require(UnverifiedClaims(jwt: jwt(#"{"sub":"ann","exp":"soon"}"#)))
        #expect(claims.expiresAt == nil)
        #expect(claims.isExpired())
    }
}
