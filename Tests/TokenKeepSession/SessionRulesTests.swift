import Testing

@testable import TokenKeepSession

/// The rules of sessions as tables: each line is one decision.
struct SessionRulesTests {
    private typealias Earlier = SendingRules.EarlierRequest

    private static let lost = Earlier(age: 61)
    private static let recent = Earlier(age: 60)
    private static let answered = Earlier(age: 61, isAnswered: true)

    @Test(
        arguments: [
            // A first request, or one after an answer that was saved.
            (nil, .strict, false, .send), (nil, .strict, true, .send), (nil, .overlap(seconds: 60), false, .send),
            (nil, .none, false, .send),
            // No answer came.
            (lost, .strict, false, .useAccessToken), (lost, .strict, true, .send),
            (recent, .strict, false, .useAccessToken),
            (recent, .overlap(seconds: 60), false, .send), (lost, .overlap(seconds: 60), false, .useAccessToken),
            (lost, .overlap(seconds: 60), true, .send), (lost, .none, false, .send), (lost, .none, true, .send),
            // The answer came, and is gone.
            (answered, .strict, false, .useAccessToken), (answered, .strict, true, .isLost),
            (answered, .overlap(seconds: 60), true, .isLost), (answered, .none, true, .send),
        ] as [(SendingRules.EarlierRequest?, RotationProfile, Bool, SendingRules.Decision)])
    func aRefreshTokenIsSentAgainAsItsServerAllows(
        earlier: SendingRules.EarlierRequest?, rotation: RotationProfile, isOver: Bool,
        decision: SendingRules.Decision
    ) {
        #expect(SendingRules.decide(earlier, rotation, isAccessTokenOver: isOver) == decision)
    }

    @Test(
        arguments: [
            (.unknown, [0, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]),
            (.refusesClient, [0, 30, 60, 120, 240, 300, 300]),
            (.asksToWait(nil), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]),
            (.asksToWait(0), [0, 0, 0, 30, 60]), (.asksToWait(5), [5, 5, 5, 30, 60]),
            (.asksToWait(600), [600, 600, 600, 600]), (.asksToWait(.max), [86_400, 86_400]),
        ] as [(AnswerRules.Failure, [Int64])])
    func thePauseGrowsWithEachFailureInARow(failure: AnswerRules.Failure, pauses: [Int64]) {
        let found = pauses.indices.map { AnswerRules.pause(after: failure, earlierFailures: $0) }
        #expect(found == pauses)
        #expect(AnswerRules.pause(after: failure, earlierFailures: 255) <= AnswerRules.longestWait)
    }

    @Test(
        arguments: [
            (0, 0, 0, 361), (1000, 0, 0, 361), (1060, 1360, 0, 61), (1360, 1660, 0, 361), (1361, 1661, 0, 361),
            // An answer was none: the token's end, or the end of the pause.
            (900, 1200, 0, 201), (900, 990, 1030, 31), (900, 1200, 1030, 31), (.min, .min, .max, 361),
        ] as [(Int64, Int64, Int64, Int64)])
    func aKeeperLooksWhenATimeOfTheSessionComes(refreshAt: Int64, expiresAt: Int64, pauseEnds: Int64, seconds: Int64) {
        let times = TokenRules.Times(refreshAt: refreshAt, expiresAt: expiresAt, coolDownUntil: pauseEnds)
        #expect(TokenRules.nextLook(times, at: 1000) == seconds)
    }
}
