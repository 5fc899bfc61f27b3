import Foundation
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

@Suite struct TokenEndpointsMovedClockTests {
    private let world = TokenEndpointsTests()

    @Test func aServerThatDoesNotAnswerIsWaitedForUpToTheLimitForTheAnswer() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let session = try await world.session(server, answerLimit: 5_000)
        let outcome = try await TestClock.passLimits(when: { server.requests.count == 1 }) {
            await expect(.unavailable) { try await session.refresh() }
        }
        #expect(outcome.duration >= .milliseconds(5_000))
        #expect(outcome.duration < .seconds(30), "the usual limit")
        #expect(try await session.state == .user)
    }
}
