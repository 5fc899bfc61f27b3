import Testing
import TokenKeepCore
import TokenKeepRecords

@testable import TokenKeepEngine

/// Judgements of a module's value by all kinds of evidence. The pending change is from second 10 000.
@Suite struct ForeignChangeRuleTests {
    private static let (ours, sent, theirs): ([UInt8], [UInt8], [UInt8]) = ([1], [2], [3])
    private static let change: Int64 = 10_000

    struct Case: CustomTestStringConvertible {
        let value: [UInt8]
        let isSeenBefore: Bool
        let modifiedAt: Int64?
        let order: ClockMark.Order
        let isOurs: Bool
        var testDescription: String { "\(value) at \(modifiedAt ?? 0), seen \(isSeenBefore), clocks \(order)" }
    }

    /// A known value is judged ours, whatever its time and the clocks.
    private static let known = [ours, sent].flatMap { value in
        [nil, 0, change, change * 2].flatMap { time in
            [ClockMark.Order.kept, .unknown, .setBack].map {
                Case(value: value, isSeenBefore: true, modifiedAt: time, order: $0, isOurs: true)
            }
        }
    }

    private static func other(
        seen: Bool, _ time: Int64?, _ order: ClockMark.Order, isOurs: Bool
    ) -> Case {
        Case(value: theirs, isSeenBefore: seen, modifiedAt: time, order: order, isOurs: isOurs)
    }

    private static let unknown = [
        other(seen: true, nil, .kept, isOurs: false), other(seen: false, nil, .kept, isOurs: false),
        other(seen: true, change - 1, .kept, isOurs: true), other(seen: true, change, .kept, isOurs: false),
        other(seen: true, change + 1, .kept, isOurs: false),
        other(seen: true, change - 3601, .unknown, isOurs: true),
        other(seen: true, change - 3600, .unknown, isOurs: false),
        other(seen: true, 0, .setBack, isOurs: false), other(seen: true, change + 1, .setBack, isOurs: false),
        other(seen: false, change - 1, .setBack, isOurs: true), other(seen: false, change, .unknown, isOurs: true),
        other(seen: false, change + 1, .kept, isOurs: false),
    ]

    @Test(arguments: known + unknown) func isJudged(evidence: Case) {
        let rule = ForeignChangeRule(
            seen: evidence.isSeenBefore ? [Self.ours] : [], own: [Self.sent], changedAt: UnixTime(Self.change),
            order: evidence.order)
        let judgement = rule.judge(evidence.value, modifiedAt: evidence.modifiedAt.map { UnixTime($0) })
        #expect((judgement == .ours) == evidence.isOurs)
    }

    @Test func noOffsetTraps() {
        let boot = [UInt8](repeating: 0, count: 16)
        let offsets: [Int64] = [.min, -1, 0, .max]
        for (first, second) in offsets.flatMap({ first in offsets.map { (first, $0) } }) {
            _ = ClockMark(boot: boot, offset: first).order(until: ClockMark(boot: boot, offset: second))
        }
        let rule = ForeignChangeRule(seen: [[1]], changedAt: UnixTime(.min), order: .unknown)
        #expect(rule.judge([3], modifiedAt: UnixTime(.min)) == .theirs)
    }
}
