import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepSession

@testable import TokenKeepOAuth

/// The time limits of requests. Each test leaves one as it is, and the others are far longer.
@Suite struct HTTPMovedClockTests {
    private static let longer: UInt32 = 600_000
    private let server: LyingServer

    init() throws { server = try LyingServer() }

    /// A request whose limits are far longer than `milliseconds`.
    private func request(
        _ path: String, on name: String = "http", milliseconds: UInt32 = longer
    ) throws -> HTTPRequest {
        var request = try server.request(path, on: name, milliseconds: milliseconds)
        request.limits.connect = Self.longer
        request.limits.answer = Self.longer
        request.limits.whole = Self.longer
        return request
    }

    /// Sends a request, passes its limit once the server has it, and expects that it took as long.
    private func fault(
        of request: HTTPRequest, at limit: UInt32, arrives: Bool = true
    ) throws -> HTTPFailure {
        let server = server
        let outcome = try TestClock.passLimits(
            when: { !arrives || (try? server.requests.isEmpty) == false },
            of: { try #require(throws: HTTPFailure.self) { try HTTPClient.send(request) } })
        #expect(outcome.took(milliseconds: limit), "\(outcome.duration)")
        return outcome.answer
    }

    @Test func aRequestWithoutAnAnswerEndsAtItsDeadline() throws {
        let failure = try fault(
            of: request("/hangs", milliseconds: Patience.milliseconds), at: Patience.milliseconds)
        #expect(failure.error.status == .timedOut)
        #expect(failure.wasSent)
    }

    @Test func aDeadlineThatPassesDuringTheLastStepSendsNothing() throws {
        var request = try request("/echo", milliseconds: Patience.milliseconds)
        request.keepsAnswer = true
        request.whenSending = { () throws(TokenKeepError) in pass(Patience.milliseconds) }
        let failure = try #require(throws: HTTPFailure.self) { try HTTPClient.send(request) }
        #expect(failure.error.status == .timedOut && !failure.wasSent)
        #expect(try server.requests.isEmpty)
    }

    @Test func aConnectionWithoutAHandshakeEndsAtTheLimitForConnecting() throws {
        var request = try request("/echo", on: "silent")
        request.limits.connect = HTTPLimits().connect
        let failure = try fault(of: request, at: request.limits.connect, arrives: false)
        #expect(failure.error.status == .timedOut && !failure.wasSent)
        #expect(failure.error.message == "\(request.address.origin) could not be reached in time")
        #expect(!request.deadline.hasPassed)
    }

    @Test(arguments: [false, true])
    func aServerThatDoesNotAnswerIsWaitedForUpToTheLimitForTheAnswer(keepsAnswer: Bool) throws {
        var request = try request("/hangs")
        request.keepsAnswer = keepsAnswer
        request.limits.answer = HTTPLimits().answer
        let failure = try fault(of: request, at: request.limits.answer)
        #expect(failure.error.status == .timedOut && failure.wasSent)
        #expect(failure.error.message == "\(request.address.origin) did not answer in time")
        #expect(!request.deadline.hasPassed)
    }

    @Test func anAnswerThatMustBeKeptIsWaitedForUpToTheLimitOfTheWhole() throws {
        var request = try request("/hangs")
        request.keepsAnswer = true
        request.limits.whole = HTTPLimits().whole
        #expect(try fault(of: request, at: request.limits.whole).error.status == .timedOut)
        #expect(!request.deadline.hasPassed)
    }

    @Test func nothingIsSentAfterTheLimitOfTheWhole() throws {
        var request = try request("/echo")
        let whole = HTTPLimits().whole
        request.limits.whole = whole
        request.whenSending = { () throws(TokenKeepError) in pass(whole) }
        let failure = try #require(throws: HTTPFailure.self) { try HTTPClient.send(request) }
        #expect(failure.error.status == .timedOut && !failure.wasSent)
        #expect(!request.deadline.hasPassed)
        #expect(try server.requests.isEmpty)
    }
}

/// Passes a limit that began before.
private func pass(_ milliseconds: UInt32) {
    #expect(throws: Never.self) { try TestClock.advance(seconds: Double(milliseconds) / 1000) }
}
