import Dispatch
import Synchronization
import TestSupport
import Testing
import TokenKeep

/// Limits of what an application does for a session.
@Suite struct TokenSessionMovedClockTests {
    private static let tokens = #"{"access_token":"access-1","expires_in":3600,"refresh_token":"refresh-1"}"#
    private let directory = TemporaryDirectory()

    private func session(_ options: TokenSession.Options = .init()) async throws -> TokenSession {
        let store = try TokenStore(.init(stackText: "any required vault"), vaultPath: directory.path + "/vault")
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options)
        try await session.begin(.user, response: .init(Self.tokens))
        return session
    }

    @Test func aTransportThatDoesNotAnswerIsCancelledAtTheLimitForTheAnswer() async throws {
        var options = TokenSession.Options()
        options.answerLimit = 5_000
        let (answers, server) = AsyncStream<TokenSession.Response>.makeStream()
        let (cancellations, transport) = AsyncStream<Bool>.makeStream()
        let isAsked = Flag()
        options.transport = { _ in
            isAsked.set()
            let answer = await answers.first { _ in true }
            transport.yield(Task.isCancelled)
            guard let answer else { throw CancellationError() }
            return answer
        }
        let session = try await session(options)
        let outcome = try await TestClock.passLimits(when: { isAsked.isSet }) {
            await expect(.unavailable) { try await session.refresh() }
        }
        #expect(await cancellations.first { _ in true } == true)
        #expect(outcome.duration >= .milliseconds(5_000))
        #expect(outcome.duration < .seconds(30), "the usual limit")
        server.finish()
    }

    @Test func aHookThatDoesNotEndCountsAsFailedAfterItsLimit() async throws {
        let session = try await session()
        let gate = DispatchSemaphore(value: 0)
        let hangs = Flag()
        session.onEnd("hangs", order: 1, limit: 120_000) { _, _ in
            hangs.set()
            gate.wait()
        }
        // The clock may go on while this hook's thread starts.
        session.onEnd("works", order: 2, limit: 360_000_000) { _, _ in }
        let outcome = try await TestClock.passLimits(when: { hangs.isSet }, by: 121) {
            try await session.end(isLocalOnly: true).failedHooks
        }
        #expect(outcome.answer == ["hangs"])
        #expect(outcome.duration >= .seconds(120), "the usual limit is shorter")
        gate.signal()
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
