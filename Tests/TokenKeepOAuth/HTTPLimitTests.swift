import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepSession

@testable import TokenKeepOAuth

/// The time limits of requests and of a browser's command. Each test shortens one, and the request's deadline would have
/// passed at the limit as it is otherwise.
@Suite struct HTTPLimitTests {
    private let server: LyingServer

    init() throws { server = try LyingServer() }

    private func fault(of request: HTTPRequest) throws -> HTTPFailure {
        try #require(throws: HTTPFailure.self) { try HTTPClient.send(request) }
    }

    @Test func aConnectionWithoutAHandshakeEndsAtTheLimitForConnecting() throws {
        var request = try server.request("/echo", on: "silent", milliseconds: 10_000)
        request.limits.connect = 100
        let failure = try fault(of: request)
        #expect(failure.error.status == .timedOut && !failure.wasSent)
        #expect(failure.error.message == "\(request.address.origin) could not be reached in time")
        #expect(!request.deadline.hasPassed)
    }

    @Test(arguments: [false, true])
    func aServerThatDoesNotAnswerIsWaitedForUpToTheLimitForTheAnswer(keepsAnswer: Bool) throws {
        var request = try server.request("/hangs")
        request.keepsAnswer = keepsAnswer
        request.limits.answer = 100
        let failure = try fault(of: request)
        #expect(failure.error.status == .timedOut && failure.wasSent)
        #expect(failure.error.message == "\(request.address.origin) did not answer in time")
        #expect(!request.deadline.hasPassed)
    }

    @Test func anAnswerThatMustBeKeptIsWaitedForUpToTheLimitOfTheWhole() throws {
        var request = try server.request("/hangs")
        request.keepsAnswer = true
        request.limits.whole = 500
        #expect(try fault(of: request).error.status == .timedOut)
        #expect(!request.deadline.hasPassed)
    }

    @Test func nothingIsSentAfterTheLimitOfTheWhole() throws {
        var request = try server.request("/echo")
        request.limits.whole = 200
        // The transfer began before this deadline is made.
        request.whenSending = { () throws(TokenKeepError) in
            let later = Deadline(milliseconds: 200)
            while !later.hasPassed { sched_yield() }
        }
        let failure = try fault(of: request)
        #expect(failure.error.status == .timedOut && !failure.wasSent)
        #expect(try server.requests.isEmpty)
    }

    @Test func aBrowsersCommandThatFailsLateHasOpenedTheAddress() {
        #expect(!BrowserLaunch.run(["false"]))
        #expect(BrowserLaunch.run(["false"], patience: 0))
        #expect(BrowserLaunch.run(["true"]))
        #expect(!BrowserLaunch.run(["/nonexistent"], patience: 0))
    }
}
