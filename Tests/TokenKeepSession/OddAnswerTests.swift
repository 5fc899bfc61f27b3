import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// Answers with tokens in which something else is odd: no new token may be lost for it.
struct OddAnswerTests {
    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let body: [UInt8]
        var testDescription: String { name }

        init(_ name: String, _ text: String) { (self.name, body) = (name, Array(text.utf8)) }
        init(_ name: String, bytes: [UInt8]) { (self.name, body) = (name, bytes) }
    }

    private static let tokens = #""access_token":"new","refresh_token":"next","expires_in":3600"#

    private static func with(_ more: String) -> String { "{\(tokens),\(more)}" }
    private static func utf16(_ text: String, bigEndian: Bool) -> [UInt8] {
        text.utf16.flatMap { bigEndian ? [UInt8($0 >> 8), UInt8($0 & 255)] : [UInt8($0 & 255), UInt8($0 >> 8)] }
    }
    private static func utf32(_ text: String, bigEndian: Bool) -> [UInt8] {
        text.unicodeScalars.flatMap { scalar in
            withUnsafeBytes(of: bigEndian ? scalar.value.bigEndian : scalar.value.littleEndian, Array.init)
        }
    }
    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    static let odd = [
        Answer("a byte order mark", "\u{FEFF}{\(tokens)}"),
        Answer("UTF-16 from its lower byte", bytes: [0xFF, 0xFE] + utf16("{\(tokens)}", bigEndian: false)),
        Answer("UTF-16 from its upper byte", bytes: [0xFE, 0xFF] + utf16("{\(tokens)}", bigEndian: true)),
        Answer("UTF-16 without a mark", bytes: utf16("{\(tokens)}", bigEndian: false)),
        Answer("UTF-32 from its lower byte", bytes: utf32("\u{FEFF}{\(tokens)}", bigEndian: false)),
        Answer("UTF-32 from its upper byte", bytes: utf32("\u{FEFF}{\(tokens)}", bigEndian: true)),
        Answer("a part of a character behind UTF-32", bytes: utf32("\u{FEFF}{\(tokens)}", bigEndian: false) + [0, 0]),
        Answer("Latin-1", bytes: Array(with(#""name":"Ren"#).utf8.dropLast()) + [0xE9] + Array(#""}"#.utf8)),
        Answer("a repeated member", with(#""user":1,"user":2"#)),
        Answer("a repeated token", #"{"refresh_token":"first","access_token":"a",\#(tokens)}"#),
        Answer("a NUL", with(#""name":"a\u0000b""#)),
        Answer("a NUL in a name", with(#""a\u0000b":1"#)),
        Answer("the first half of a surrogate pair", with(#""name":"\ud83d""#)),
        Answer("the second half of a surrogate pair", with(#""name":"\ude00x","other":"\ud83dx""#)),
        Answer("half a surrogate pair in a name", with(#""a\udfffb":1"#)),
        Answer("an escape that JSON does not have", with(#""name":"\x41\'\u12""#)),
        Answer("a tab and a newline in a string", with("\"name\":\"a\tb\nc\"")),
        Answer("a number beyond all numbers", with(#""x":1e999"#)),
        Answer("a number beyond 64 bits", with(#""x":99999999999999999999,"y":[-99999999999999999999]"#)),
        Answer("no number", with(#""x":NaN,"y":-Infinity,"z":undefined"#)),
        Answer("numbers that JSON does not have", with(#""x":01,"y":+1,"z":.5,"w":1."#)),
        Answer("names without quotes", #"{access_token:"new",refresh_token:"next",expires_in:3600}"#),
        Answer("a comma too many", "{\(tokens),\"x\":[1,],}"),
        Answer("deep nesting", with(#""deep":"# + nested(20_000))),
        Answer(
            "deep objects",
            with(
                #""deep":"# + String(repeating: #"{"a":"#, count: 5000) + "1" + String(repeating: "}", count: 5000))),
        Answer("two byte order marks", "\u{FEFF}\u{FEFF}{\(tokens)}"),
        Answer("lines before its byte order mark", "\r\n \u{FEFF}\n\u{FEFF}{\(tokens)}"),
        Answer("a form with byte order marks", "\u{FEFF}\n\u{FEFF}access_token=new&refresh_token=next"),
        Answer("the header's value", #"{"access_token":" Bearer new\u0020","refresh_token":"next"}"#),
        Answer("bytes behind it", "{\(tokens)}\n\0\0"),
        Answer("text behind it", "{\(tokens)}<!-- 0.02 s -->"),
        Answer("a form", "access_token=new&expires_in=3600&refresh_token=next&scope=&token_type=bearer"),
        Answer("a form with a newline", "token_type=Bearer&access_token=ne%77&refresh_token=n%65xt&name=a+b%2\r\n"),
        Answer("a form like a URL's query", "?access_token=new&expires_in=3600&refresh_token=next"),
        Answer("a form separated by semicolons", "access_token=new;expires_in=3600;refresh_token=next"),
        Answer("a form with blanks", "access_token=new; expires_in=3600; refresh_token=next;"),
        Answer("a form with blanks behind the values", "access_token=new ;; ;refresh_token=next ; "),
        Answer("a form that repeats a name", "user=1&user=2&access_token=new&refresh_token=next"),
    ]

    private let world = SessionWorld()
    private static let name = (service: "api.example.com", account: "ann")

    private func record() throws -> SessionRecord {
        let item = try world.store().load(service: Self.name.service, account: Self.name.account)
        return try SessionRecord(item.secret, now: SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one"))
    }

    /// A handle whose server gives this answer to each request.
    private func session(answering body: [UInt8]) throws -> SessionEngine {
        _ = try world.signedIn()
        return try world.session { _ throws(TokenKeepError) in
            SessionResponse(status: 200, body: try SecretBytes(bytes: body))
        }
    }

    @Test(arguments: odd) func anOddMemberLosesNoToken(answer: Answer) throws {
        let session = try session(answering: answer.body)
        #expect(try session.refresh().text == "new")
        #expect(try record().refreshToken?.utf8String == "next")
        #expect(try session.info().state == .user)
    }

    @Test(arguments: odd) func aSignInWithAnOddMemberBegins(answer: Answer) throws {
        let session = try world.session()
        try session.begin(.user, response: SecretBytes(bytes: answer.body))
        #expect(try session.token().text == "new")
        #expect(try record().refreshToken?.utf8String == "next")
    }

    @Test func aSemicolonBehindAFormIsNoPartOfTheToken() throws {
        let session = try world.session()
        try session.begin(.user, response: SecretBytes("access_token=new;"))
        #expect(try session.token().text == "new")
    }

    /// What is read as no answer is kept, so that a later version can read the new tokens in it.
    @Test(arguments: [
        Answer("a warning before it", "<b>Warning</b>: undefined index<br>\n{\(tokens)}"),
        Answer("a guard before it", ")]}',\n{\(tokens)}"),
        Answer("UTF-32 without a mark", bytes: utf32("{\(tokens)}", bigEndian: true)),
        Answer("EBCDIC", bytes: [0xC0, 0x7F, 0x81, 0x83, 0x83, 0x85, 0xA2, 0xA2, 0x7F]),
    ])
    func anAnswerInNoReadableFormIsKept(answer: Answer) throws {
        let session = try session(answering: answer.body)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(try session.token().text == "access-1")
        let kept = try record().json["unread"]?.text
        #expect(kept == Data(answer.body).base64EncodedString())
    }

    /// A character that stands for an unreadable byte is no part of a token.
    @Test(arguments: [
        #"{"access_token":"a\u0000b"}"#, #"{"access_token":"a\ud83d"}"#, #"{"access_token":"a\x41"}"#,
        "{\"access_token\":\"a\nb\"}", #"{"access_token":NaN}"#, "{\"access_token\":'a'}", #"{"access_token":a}"#,
        "access_token=a%00b", "access_token=", "access_token=a%E9b", "<html>?access_token=a&x=b</html>",
        "{\"access_token\":\"cut short", #"["access_token","a"]"#, #""access_token""#,
    ])
    func aTokenThatIsNotReadableIsNone(body: String) throws {
        let session = try session(answering: Array(body.utf8))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(try session.token().text == "access-1")
        #expect(throws: TokenKeepError(.invalid, "")) {
            try world.session().begin(.user, response: SecretBytes(body))
        }
    }

    @Test(arguments: [
        ("1", 1), ("0", 0), ("1.0", 1), ("1.73", 1), (#""1.5""#, 1), ("1e0", 1), ("36e2", 3600), (#""3.6E3""#, 3600),
        (#"" 60 ""#, 60), ("0.9", 0), ("-1", nil), ("-0.5", nil), ("1e999", nil), ("99999999999999999999", nil),
        ("1e300", nil), (#""soon""#, nil), (#""0x10""#, nil), (#""inf""#, nil), (#""""#, nil), ("true", nil),
        ("null", nil), ("[]", nil), ("NaN", nil),
    ])
    func aLifetimeIsAnyNumberRoundedDown(expiresIn: String, seconds: Int64?) throws {
        let session = try world.session(sends: false)
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a","expires_in":\#(expiresIn)}"#))
        #expect(try record().life.lifetime == seconds)
    }

    /// An answer whose connection broke is taken if its object is complete.
    @Test(arguments: [
        Answer("plain", "{\(tokens)}"), Answer("a byte order mark", "\u{FEFF}{\(tokens)}"),
        Answer("UTF-16", bytes: utf16("{\(tokens)}", bigEndian: false)), Answer("odd", "{\(tokens),\"x\":[NaN,{}]}"),
        Answer("a form", "access_token=new&refresh_token=next"),
    ])
    func aBeginningOfAnAnswerIsNoObject(answer: Answer) {
        for length in 0..<answer.body.count - 1 {
            #expect(answer.body[..<length].withUnsafeBytes { JSONValue.answeredObject($0) } == nil, "\(length)")
        }
    }

    /// A server that means by 0 that its tokens do not expire is not asked by every call.
    @Test func aRenewedTokenWithALifetimeOfNothingIsUsedUntilItIsRefused() throws {
        let session = try world.signedIn(lifetime: 0)
        for _ in 0..<3 {
            let token = try session.token()
            #expect(token.text == "access-2" && !token.isShort)
            world.move(seconds: 1000)
        }
        #expect(world.server.requests.count == 1)
        #expect(try session.rejected(SecretBytes("access-2")).text == "access-3")
    }

    /// In milliseconds, or beyond a century: as such a number in expires_in.
    @Test(arguments: ["1800003600000", "1e12", "99999999999999999999", "4955760001"])
    func aJSONWebTokenThatEndsInACenturyNamesNoEnd(end: String) throws {
        let session = try world.session(sends: false)
        let token = jsonWebToken(#"{"exp":\#(end)}"#)
        try session.begin(.user, response: SecretBytes(#"{"access_token":"\#(token)"}"#))
        #expect(try record().life.lifetime == nil)
    }

    @Test func theLifetimeOfAFormIsItsText() throws {
        let session = try world.session(sends: false)
        try session.begin(.user, response: SecretBytes("access_token=a&expires_in=60.5&scope=a+b%2Bc"))
        #expect(try session.token().secondsLeft == 60)
        #expect(try session.token().scope == "a b+c")
    }

    /// GitHub refuses with status 200, and as a form if the request does not name JSON.
    @Test(arguments: [
        #"{"error":"bad_refresh_token","x":1e999}"#, "error=bad_refresh_token&error_description=no+more",
        "\u{FEFF}{\"error\":\"invalid_grant\"}",
    ])
    func aRefusalIsReadAsLiberally(body: String) throws {
        let session = try session(answering: Array(body.utf8))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
    }
}
