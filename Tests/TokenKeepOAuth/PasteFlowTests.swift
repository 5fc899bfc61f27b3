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
        "c", "code=c", "https://login.example.com/?code=c&state=STATE", "REDIRECT", "REDIRECT?code=c&state=x",
    ])
    func anythingElseIsDenied(text: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(played) { opened in
                switch text {
                case "REDIRECT": opened.redirect
                case "REDIRECT?code=c&state=x": "\(opened.redirect)?code=c&state=x"
                case "https://login.example.com/?code=c&state=STATE":
                    "https://login.example.com/?code=c&state=\(opened.state)"
                default: text
                }
            }
        }
        #expect(error.status == .denied && played.posted.isEmpty)
    }
}
