import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepOAuth

/// The errors of addresses, answers and sign-ins, word for word.
@Suite struct MessageTests {
    private static let redirectHint = "write http://127.0.0.1/PATH or http://localhost:PORT/PATH"

    private static let refusals: [(text: String, body: @Sendable () throws -> Void)] = [
        (
            "an address is longer than 2048 bytes, or has characters that none may have",
            { _ = try WebAddress("https://a b.com/") }
        ),
        (
            "example.com is not the address of a server; write https://HOST/PATH",
            { _ = try WebAddress("example.com") }
        ),
        (
            "the redirect address http://example.com/ does not lead to this machine; \(redirectHint)",
            { _ = try RedirectAddress("http://example.com/") }
        ),
        ("an answer repeats the field state", { _ = try answer("state=a&state=b") }),
        ("the field state is malformed", { _ = try answer("state=%4") }),
        ("the answer of the sign-in has no code", { _ = try answer("state=a").code(from: PlayedServer().server) }),
        (
            "the provider test has no authorization_endpoint; use --flow device",
            { try signIn(.paste, changing: { $0.authorizationEndpoint = nil }) }
        ),
        (
            "the pasted address belongs to another sign-in; open the address of this sign-in, and paste where the "
                + "browser is sent then",
            { try signIn(.paste, pasting: { "\(OpenedAddress($0.address).redirect)?code=c&state=another" }) }
        ),
        (
            "the pasted text is the address of the sign-in itself; open it in a browser, sign in, and paste the address to "
                + "which the browser is sent then",
            { try signIn(.paste, pasting: { $0.address }) }
        ),
        (
            "the pasted address is cut off; paste the rest, or the whole address again",
            { try signIn(.paste, pasting: { "\(OpenedAddress($0.address).redirect)?code=c" }) }
        ),
        (
            "nobody signed in in time: no answer of a browser has come; sign in again; --timeout gives more time, --flow device needs no browser here",
            { try signIn(.paste, until: .passed) }
        ),
        (
            "the server's answer to the device's sign-in lacks a usable device_code, user_code or verification_uri",
            { try signIn(.device, PlayedServer(PlayedServer.json("{}"))) }
        ),
        (
            "the server answered the device's sign-in with status 500; try again later",
            { try signIn(.device, PlayedServer(PlayedServer.json("{}", status: 500))) }
        ),
        (
            "the code was not approved in time; sign in again",
            { try signIn(.device, PlayedServer(PlayedServer.json(code)), until: .passed) }
        ),
    ]

    private static let code =
        #"{"device_code":"d-1","user_code":"W","verification_uri":"https://login.example.com/device","interval":1}"#

    private static func answer(_ query: String) throws -> AuthorizationAnswer {
        try Array(query.utf8).withUnsafeBytes { try AuthorizationAnswer(query: $0) }
    }

    private static func signIn(
        _ flow: SignInFlow, _ played: PlayedServer = PlayedServer(), until deadline: Deadline = .patient,
        changing change: (inout SignInServer) -> Void = { _ in },
        pasting text: @escaping (SignInStep) -> String? = { _ in nil }
    ) throws {
        var server = played.server
        change(&server)
        var options = SignInOptions.test(flow)
        options.pause = { _, deadline in while !deadline.hasPassed { sched_yield() } }
        _ = try SignIn.run(at: server, options, until: deadline) {
            step throws(TokenKeepError) in
            if let problem = step.problem { throw problem }
            return try text(step).map { text throws(TokenKeepError) in try SecretBytes(text) }
        }
    }

    @Test(arguments: refusals.indices) func anErrorReads(index: Int) {
        #expect(errorText(Self.refusals[index].body) == Self.refusals[index].text)
    }

    @Test func theEndOfTheTimeSaysWhatWasMissing() throws {
        let more = "--timeout gives more time, --flow device needs no browser here"
        var progress = SignInProgress()
        progress.opensBrowser = true
        #expect(
            errorText { throw progress.end }
                == "nobody signed in in time: no browser has opened the sign-in; sign in again; \(more)")
        progress.hasBrowser = true
        #expect(
            errorText { throw progress.end }
                == "nobody signed in in time: the browser has opened the sign-in, and has not come back; sign in again, in "
                + "the newest tab: the tab of an earlier sign-in does not count; \(more)")
        progress.add(SignInProgress.other(try Self.answer("code=c&state=old")))
        #expect(
            errorText { throw progress.end }
                == "nobody signed in in time: the browser brought the answer of another sign-in; go on in the newest tab: "
                + "the tab of an earlier sign-in does not count")
        #expect(
            errorText { throw SignInProgress.otherUser }
                == "a process that is not certainly yours has called the sign-in's port, and was refused; if it was your "
                + "browser, paste here the address to which it was sent")
    }

    @Test func aPortThatIsTakenIsNamed() throws {
        let address = try RedirectAddress("http://127.0.0.1/callback")
        let taken = try LoopbackListener(address, port: nil)
        let port = OpenedAddress("?redirect_uri=" + taken.address).port
        let text = errorText { _ = try LoopbackListener(address, port: port) }
        #expect(text.hasPrefix("port \(port) of 127.0.0.1 cannot be used: Address already in use; "))
    }

    @Test func aRequestHasSoManyHeaders() throws {
        var request = HTTPRequest(try WebAddress("http://127.0.0.1:1/"), deadline: .patient)
        request.headers = try (0..<40).map { try HTTPRequest.header("X-\($0)", SecretBytes("x")) }
        do throws(HTTPFailure) {
            _ = try HTTPClient.send(request)
            Issue.record("it was sent")
        } catch {
            #expect(error.error.message == "a request has too many headers")
        }
    }
}
