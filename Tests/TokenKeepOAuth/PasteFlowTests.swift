import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The address to which the browser was sent is pasted.
@Suite struct PasteFlowTests {
    private func signIn(
        _ played: PlayedServer, pasting text: @escaping (OpenedAddress) -> String
    ) throws(TokenKeepError) -> SignedIn {
        try SignIn.run(at: played.server, .test(.paste), until: .patient) {
            step throws(TokenKeepError) in
            #expect(step.kind == .paste && step.millisecondsLeft > 0)
            if let problem = step.problem { throw problem }
            return try SecretBytes(text(OpenedAddress(step.address)))
        }
    }

    @Test func aWholeAddressSignsIn() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { "\($0.redirect)?code=c&state=\($0.state)\n" }
        #expect(played.posted.first?["code"] == "c")
    }

    @Test(arguments: [
        "\"REDIRECT?code=c&state=STATE\"\n", "<REDIRECT?code=c&state=STATE>\n", "'REDIRECT?code=c&state=STATE'",
        "code=c&state=STATE\n", "?code=c&state=STATE", "state=STATE&code=c&session_state=x",
        "Location: REDIRECT?code=c&state=STATE\r\n", "REDIRECT\\?code\\=c\\&state\\=STATE",
        "REDIRECT?code=c&amp;state=STATE", "\u{1B}[200~REDIRECT?code=c&state=STATE\u{1B}[201~",
        "\u{FEFF}“REDIRECT?code=c&state=STATE”", "REDI\nRECT?co de=c&state=STATE\n", "REDIRECT?code=c&state=STATE#_=_",
        "an earlier line\nREDIRECT?code=x&state=another\nREDIRECT?code=c&state=STATE\n",
        "[here](REDIRECT?code=c&state=STATE)", "It was REDIRECT?code=c&state=STATE.", "REDIRECT?code=c&state=STATE;",
        "PLAIN?code=c&state=STATE", "REDIRECT/?code=c&state=STATE",
        "REDIRECT?code=c&state=STATE ERR_CONNECTION_REFUSED",
        "It was REDIRECT?state=STATE&code=c&scope=a in the bar",
        "REDIRECT?state=STATE&code=c ERR_CONNECTION_REFUSED", "GET PATH?state=STATE&code=c HTTP/1.1",
        "[here](REDIRECT?state=STATE&code=c)", "It was REDIRECT?state=STATE&code=c.",
        "REDIRECT?state=STATE&co\n   de=c  \n",
        "[REDIRECT?code=c&state=STATE](REDIRECT?code=c&state=STATE)", "REDIRECT#code=c&state=STATE",
        "REDIRECT?code=c&state=STATE&x=100%&y=1&y=2", "LOCALHOST?code=c&state=STATE",
        "GET PATH?code=c&state=STATE HTTP/1.1", "ENCODED%3Fcode%3Dc%26state%3DSTATE",
        "https://mail.example.com/?url=ENCODED%3Fcode%3Dc%26state%3DSTATE&data=1",
    ])
    func anAddressIsReadAsPeoplePasteIt(text: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            let (first, rest) = (opened.redirect.prefix(12), opened.redirect.dropFirst(12))
            return text.replacing("REDIRECT", with: opened.redirect).replacing("STATE", with: opened.state)
                .replacing("PLAIN", with: opened.redirect.dropFirst(7)).replacing(
                    "REDI\nRECT", with: "\(first)\n\(rest)"
                )
                .replacing("LOCALHOST", with: opened.redirect.replacing("127.0.0.1", with: "localhost"))
                .replacing("PATH", with: "/" + opened.redirect.split(separator: "/").dropFirst(2).joined())
                .replacing("ENCODED", with: opened.redirect.replacing(":", with: "%3A").replacing("/", with: "%2F"))
        }
        #expect(played.posted.first?["code"] == "c")
    }

    @Test(arguments: [5, 20, 30, 40, 60])
    func anAddressInTwoPartsIsJoined(length: Int) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var problems: [String?] = []
        _ = try SignIn.run(at: played.server, .test(.paste), until: .patient) {
            step throws(TokenKeepError) in
            problems.append(step.problem?.message)
            let opened = OpenedAddress(step.address)
            let whole = "\(opened.redirect)?code=c&state=\(opened.state)"
            return try SecretBytes(problems.count == 1 ? "\(whole.prefix(length))" : "\(whole.dropFirst(length))")
        }
        #expect(problems == [nil, "the pasted address is cut off"])
        #expect(played.posted.map { $0["code"] } == ["c"])
    }

    @Test func aWholeAddressAfterACutOneCountsAlone() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var count = 0
        _ = try SignIn.run(at: played.server, .test(.paste), until: .patient) {
            step throws(TokenKeepError) in
            count += 1
            let opened = OpenedAddress(step.address)
            return try SecretBytes(
                count == 1 ? "\(opened.redirect)?code=c" : "\(opened.redirect)?code=c&state=\(opened.state)")
        }
        #expect(played.posted.map { $0["code"] } == ["c"])
    }

    @Test(arguments: [
        "c", "", "REDIRECT?code=%zz&state=x", "code=c", "https://login.example.com/?code=c&state=STATE", "REDIRECT",
        "REDIRECT?code=c&state=x", "state=STATE", "REDIRECT?state=STATE",
    ])
    func anythingElseIsNamedAndTheSignInGoesOn(text: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var steps: [SignInStep] = []
        _ = try SignIn.run(at: played.server, .test(.paste), until: .patient) {
            step throws(TokenKeepError) in
            steps.append(step)
            let opened = OpenedAddress(step.address)
            let right = "\(opened.redirect)?code=right&state=\(opened.state)"
            let wrong = text.replacing("REDIRECT", with: opened.redirect).replacing("STATE", with: opened.state)
            return try SecretBytes(steps.count == 1 ? wrong : right)
        }
        #expect(steps.count == 2 && steps.first?.problem == nil)
        #expect([.denied, .invalid].contains(try #require(steps.last?.problem).status))
        #expect(played.posted.map { $0["code"] } == ["right"])
    }

    @Test func aProblemIsShownOnce() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var steps: [SignInStep] = []
        _ = try SignIn.run(at: played.server, .test(.paste), until: .patient) {
            step throws(TokenKeepError) in
            steps.append(step)
            let opened = OpenedAddress(step.address)
            switch steps.count {
            case 1: return try SecretBytes("code")
            case 2: return nil
            default: return try SecretBytes("\(opened.redirect)?code=right&state=\(opened.state)")
            }
        }
        #expect(steps.map { $0.problem?.status } == [nil, .denied, nil])
    }
}
