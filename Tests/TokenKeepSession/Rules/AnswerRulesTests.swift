import Testing
import TokenKeepCore

@testable import TokenKeepSession

/// Compares the rules with the table "What follows from an answer" of docs/sessions.md.
struct AnswerRulesTests {
    private struct Evidence {
        var answer: RefreshAnswer
        var facts: AnswerRules.Facts

        var isTokens: Bool { if case .tokens = answer { true } else { false } }
        var isRefused: Bool { if case .refused = answer { true } else { false } }
        var isInteraction: Bool { if case .interaction = answer { true } else { false } }
        var isUnknown: Bool { if case .unknown = answer { true } else { false } }
        var isAboutClient: Bool? { if case .denied(_, let isAboutClient) = answer { isAboutClient } else { nil } }
        var mayHaveRotated: Bool? { if case .coolDown(_, let mayHave) = answer { mayHave } else { nil } }
        var isLossLikely: Bool { facts.isRepetition && facts.rotation != .none }
    }

    private static func all() throws -> [Evidence] {
        let tokens = TokenResponse(accessToken: try SecretBytes("a"), refreshToken: nil, expiresIn: nil)
        let answers: [RefreshAnswer] = [
            .tokens(tokens), .refused("no"), .interaction("no"), .denied("no", isAboutClient: true),
            .denied("no", isAboutClient: false), .coolDown(7, mayHaveRotated: true),
            .coolDown(7, mayHaveRotated: false),
            .unknown("odd"),
        ]
        var all: [Evidence] = []
        for answer in answers {
            for rotation in [RotationProfile.strict, .overlap(seconds: 60), .none] {
                for bits in 0..<8 {
                    let facts = AnswerRules.Facts(
                        isRepetition: bits & 1 != 0, rotation: rotation, isForTarget: bits & 2 != 0,
                        isOfAnother: bits & 4 != 0)
                    all.append(Evidence(answer: answer, facts: facts))
                }
            }
        }
        return all
    }

    @Test func theServerAnswers() throws {
        RuleTable<Evidence, AnswerRules.Action>([
            ("tokens", .save, { $0.isTokens && !$0.facts.isOfAnother }),
            ("tokens of another person", .endForAnother, { $0.isTokens && $0.facts.isOfAnother }),
            ("refused", .end(.refused), { $0.isRefused && !$0.isLossLikely }),
            ("refused, an earlier answer was lost", .end(.rotationLost), { $0.isRefused && $0.isLossLikely }),
            ("the server wants the user", .end(.interaction), { $0.isInteraction }),
            ("it refuses the client", .pause(.refusesClient, withdraws: true), { $0.isAboutClient == true }),
            (
                "it refuses the scope of the sign-in", .pause(.refusesClient, withdraws: true),
                { $0.isAboutClient == false && !$0.facts.isForTarget }
            ),
            ("it refuses a resource", .withdraw, { $0.isAboutClient == false && $0.facts.isForTarget }),
            (
                "503 under strict", .pause(.asksToWait(7), withdraws: false),
                { $0.mayHaveRotated == true && $0.facts.rotation == .strict }
            ),
            (
                "429, or 503 under another profile", .pause(.asksToWait(7), withdraws: true),
                { $0.mayHaveRotated.map { !$0 } == true || $0.mayHaveRotated == true && $0.facts.rotation != .strict }
            ),
            ("anything else", .pause(.unknown, withdraws: false), { $0.isUnknown }),
        ]).check(try Self.all()) { AnswerRules.answered($0.answer, $0.facts) }
    }
}
