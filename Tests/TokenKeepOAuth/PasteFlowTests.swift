import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The address to which the browser was sent is pasted.
@Suite struct PasteFlowTests {
    private func signIn(
        _ played: PlayedServer, pasting text: @escaping (OpenedAddress) -> String
    ) throws(TokenKeepError) -> SignedIn {
        try SignIn.run(at: played.server, .test(.paste), until: Deadline(milliseconds: 30_000)) {
            step throws(TokenKeepError) in
            #expect(step.kind == .paste && step.millisecondsLeft > 0)
            return try SecretBytes(text(OpenedAddress(step.address)))
        }
    }

    @Test func aWholeAddressSignsIn() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { "\($0.redirect)?code=c&state=\($0.state)\n" }
        #expect(played.posted.first?["code"] == "c")
    }

    @Test(arguments: [
        "c", "", "REDIRECT?code=%zz&state=x", "code=c", "https://login.example.com/?code=c&state=STATE", "REDIRECT",
        "REDIRECT?code=c&state=x",
    ])
    func anythingElseIsNamedAndTheSignInGoesOn(text: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var steps: [SignInStep] = []
        _ = try SignIn.run(at: played.server, .test(.paste), until: Deadline(milliseconds: 30_000)) {
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
        _ = try SignIn.run(at: played.server, .test(.paste), until: Deadline(milliseconds: 30_000)) {
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
