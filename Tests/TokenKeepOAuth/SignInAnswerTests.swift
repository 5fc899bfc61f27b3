import Testing
import TokenKeepCore

@testable import TokenKeepOAuth

/// Answers of a sign-in's endpoints that are no tokens.
@Suite struct SignInAnswerTests {
    private func fault(_ status: Int, _ body: String) throws -> TokenKeepError {
        let answer = HTTPResponse(status: status, body: try SecretBytes(body))
        return try #require(throws: TokenKeepError.self) { try TokenGrant.grant(answer, of: "the sign-in's code") }
    }

    /// The user has done nothing wrong, and the server has refused nothing.
    @Test(arguments: [
        (200, "<html>"), (200, ""), (200, "{}"), (200, #"{"access_token":7}"#), (204, ""), (302, ""), (400, "<html>"),
        (403, "<html>Welcome to the hotel</html>"), (404, ""), (404, "{}"), (407, ""), (429, ""), (500, "<html>"),
    ])
    func anAnswerThatIsNotATokenEndpointsSaysThatTheServerIsUnavailable(status: Int, body: String) throws {
        let fault = try fault(status, body)
        #expect(fault.status == .unavailable && fault.module == "server")
    }

    @Test func aPageIsNamedWithWhatToCheck() throws {
        let page = try fault(200, "<html>")
        #expect(
            page.message == "the server's answer to the sign-in's code cannot be used: "
                + "the token response is neither a JSON object nor a form")
        #expect(
            page.hint == "check the provider's endpoints and the network: a proxy or a portal may have answered")
        let refused = try fault(403, "<html>")
        #expect(refused.message == "the server answered the sign-in's code with status 403")
        #expect(refused.hint == page.hint)
    }

    @Test(arguments: [
        (400, ""), (401, "{}"), (403, ""), (400, #"{"error":"invalid_grant"}"#), (200, #"{"error":"invalid_grant"}"#),
        (400, #"{"error":{"code":"invalid_grant","message":"over"}}"#),
    ])
    func aRefusalIsDenied(status: Int, body: String) throws { #expect(try fault(status, body).status == .denied) }

    @Test func theWordsOfAnErrorThatIsAnObjectAreShown() throws {
        let fault = try fault(400, #"{"error":{"code":"invalid_grant","message":"The code is over"}}"#)
        #expect(fault.message == "the server refused the sign-in's code: invalid_grant: The code is over")
    }
}
