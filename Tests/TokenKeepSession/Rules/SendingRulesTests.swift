import Testing

@testable import TokenKeepSession

/// Compares the rules with the tables "May a refresh token be sent?" of docs/sessions.md.
struct SendingRulesTests {
    private struct Evidence {
        var record: UInt64
        var refreshItem: UInt64
        var isNoted: Bool

        var newest: UInt64 { max(record, refreshItem) }
    }

    @Test func aNoteAboutARefreshIsRead() {
        let all = [UInt64(4), 5, 6].flatMap { record in
            [UInt64(0), 4, 5, 6].flatMap { item in
                bools.map { Evidence(record: record, refreshItem: item, isNoted: $0) }
            }
        }
        RuleTable<Evidence, SendingRules.Unanswered>([
            ("the tokens are older than the note", .isAnswered, { $0.newest < 5 }),
            (
                "the note names the token, and the record is not newer", .noted,
                {
                    $0.newest >= 5 && $0.isNoted && $0.record <= 5
                }
            ),
            ("the note names the token, and the record is newer", .none, { $0.isNoted && $0.record > 5 }),
            ("the note names another token, or none", .none, { $0.newest >= 5 && !$0.isNoted }),
        ]).check(all) {
            SendingRules.unanswered(
                SendingRules.Generations(record: $0.record, refreshItem: $0.refreshItem, note: 5), isNoted: $0.isNoted)
        }
    }

    private struct Sent {
        var earlier: SendingRules.EarlierRequest?
        var rotation: RotationProfile
        var isOver: Bool

        var isWithinOverlap: Bool { rotation == .overlap(seconds: 60) && (earlier?.age ?? 0) <= 60 }
        var mayRotate: Bool { earlier != nil && rotation != .none && !isWithinOverlap }
    }

    @Test func aRefreshTokenIsToBeSent() {
        var requests: [SendingRules.EarlierRequest?] = [nil]
        for age in [Int64(60), 61] {
            requests += bools.map { SendingRules.EarlierRequest(age: age, isAnswered: $0) }
        }
        let all = requests.flatMap { earlier in
            [RotationProfile.strict, .overlap(seconds: 60), .none].flatMap { rotation in
                bools.map { Sent(earlier: earlier, rotation: rotation, isOver: $0) }
            }
        }
        RuleTable<Sent, SendingRules.Decision>([
            ("every earlier request was answered", .send, { $0.earlier == nil }),
            ("none", .send, { $0.earlier != nil && $0.rotation == .none }),
            ("overlap, within its seconds", .send, { $0.earlier != nil && $0.isWithinOverlap }),
            ("the access token is valid", .useAccessToken, { $0.mayRotate && !$0.isOver }),
            ("no answer came", .send, { $0.mayRotate && $0.isOver && $0.earlier?.isAnswered == false }),
            ("the answer came, and is lost", .isLost, { $0.mayRotate && $0.isOver && $0.earlier?.isAnswered == true }),
        ]).check(all) { SendingRules.decide($0.earlier, $0.rotation, isAccessTokenOver: $0.isOver) }
    }
}
