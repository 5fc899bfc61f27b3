import Testing

@testable import TokenKeepSession

/// Compares the rules with the tables "What a call finishes" of docs/sessions.md.
struct RepairRulesTests {
    private static func note(
        _ state: SessionState, epoch: String = "", next: String = "", ended: String? = nil, isLocal: Bool = false
    ) -> SessionNote {
        var note = SessionNote()
        note.state = state
        note.epoch = epoch
        note.nextEpoch = next
        note.endedEpoch = ended
        note.endsLocally = isLocal
        note.refreshItems = 3
        return note
    }

    /// Notes that there are: of no session, of a live one, of a sign-in that is being written, of a logout.
    private static let notes = [
        note(.unknown), note(.user, epoch: "a"), note(.user, epoch: "a", next: "b"), note(.unknown, next: "b"),
        note(.signedOut, epoch: "z"), note(.signedOut, epoch: "z", ended: "a"), note(.signedOut, epoch: "z", next: "b"),
        note(.signedOut, epoch: "z", ended: ""), note(.signedOut, epoch: "z", next: "b", ended: "a"),
        note(.signedOut, epoch: "z", ended: "a", isLocal: true), note(.signedOut, epoch: "z", ended: "", isLocal: true),
        note(.signedOut, epoch: "z", next: "b", ended: "a", isLocal: true),
    ]
    private static let epochs = [nil, "a", "b", "c"]

    private struct Due {
        var repair: RepairRules.Repair
        var note: SessionNote
        var stashed: RepairRules.Stashed?
        var belonging: RepairRules.Belonging?
        var orphans: UInt8

        var isTakenOver: Bool { belonging == .next || belonging == .foreign && note.state != .signedOut }
        var hasEnded: Bool { note.state == .signedOut && note.endedEpoch != nil }
    }

    @Test func aRepairIsDue() {
        var all: [Due] = []
        for note in Self.notes {
            for repair in RepairRules.Repair.allCases {
                for stashed in [nil, RepairRules.Stashed.save, .queue, .leave] {
                    for belonging in [nil, RepairRules.Belonging.live, .next, .foreign, .dead] {
                        all += [UInt8(0), 2].map {
                            Due(repair: repair, note: note, stashed: stashed, belonging: belonging, orphans: $0)
                        }
                    }
                }
            }
        }
        RuleTable<Due, Bool>([
            (
                "the stash's tokens are to be saved or queued", true,
                {
                    $0.repair == .stash && ($0.stashed == .save || $0.stashed == .queue)
                }
            ),
            (
                "nothing is in the stash, or it stays", false,
                {
                    $0.repair == .stash && ($0.stashed == nil || $0.stashed == .leave)
                }
            ),
            ("a record is to be taken over", true, { $0.repair == .takeOver && $0.isTakenOver }),
            ("the record is the session's, or dead", false, { $0.repair == .takeOver && !$0.isTakenOver }),
            ("an ended session's record is to be cleared", true, { $0.repair == .ended && $0.hasEnded }),
            ("no session has ended", false, { $0.repair == .ended && !$0.hasEnded }),
            ("an item that no record needs", true, { $0.repair == .orphans && $0.orphans != 0 }),
            ("no such item", false, { $0.repair == .orphans && $0.orphans == 0 }),
        ]).check(all) {
            RepairRules.isDue(
                $0.repair, $0.note, stashed: $0.stashed, belonging: $0.belonging, orphans: $0.orphans)
        }
    }

    private struct Read {
        var epoch: String?
        var vault: String?
        var note: SessionNote
        var present: String?

        var isLive: Bool { epoch == note.epoch }
        var isCutShort: Bool { epoch == note.nextEpoch || note.epoch.isEmpty && note.nextEpoch.isEmpty }
        var isOfAnotherVault: Bool {
            vault == "other" && present != nil && note.state != .signedOut && epoch != note.endedEpoch
        }
    }

    private static let reads = notes.flatMap { note in
        epochs.flatMap { epoch in
            [nil, "here", "other"].flatMap { vault in
                [nil, "here"].map { Read(epoch: epoch, vault: vault, note: note, present: $0) }
            }
        }
    }

    @Test func aRecordIsRead() {
        RuleTable<Read, RepairRules.Belonging>([
            ("no epoch", .foreign, { $0.epoch == nil }),
            ("the note's epoch", .live, { $0.epoch != nil && $0.isLive }),
            ("a sign-in that was cut short, or no note", .next, { $0.epoch != nil && !$0.isLive && $0.isCutShort }),
            (
                "another vault's, and nobody signed out", .next,
                { $0.epoch != nil && !$0.isLive && !$0.isCutShort && $0.isOfAnotherVault }
            ),
            (
                "any other", .dead,
                { $0.epoch != nil && !$0.isLive && !$0.isCutShort && !$0.isOfAnotherVault }
            ),
        ]).check(Self.reads) {
            RepairRules.belonging(ofEpoch: $0.epoch, vault: $0.vault, to: $0.note, in: $0.present)
        }
    }

    @Test func aRecordIsTakenOver() {
        let all = [RepairRules.Belonging.live, .next, .foreign, .dead].flatMap { belonging in
            Self.notes.map { (belonging: belonging, note: $0) }
        }
        RuleTable<(belonging: RepairRules.Belonging, note: SessionNote), RepairRules.TakeOver>([
            ("a sign-in that was cut short, or another vault's", .note, { $0.belonging == .next }),
            ("another program's", .begin, { $0.belonging == .foreign && $0.note.state != .signedOut }),
            ("another program's after a logout", .leave, { $0.belonging == .foreign && $0.note.state == .signedOut }),
            ("live, dead", .leave, { $0.belonging == .live || $0.belonging == .dead }),
        ]).check(all) { RepairRules.takeOver($0.belonging, $0.note) }
    }

    @Test func tokensAreInTheStash() {
        let all = Self.notes.flatMap { note in ["a", "b", "c"].map { (epoch: $0, note: note) } }
        func isOfLogout(_ epoch: String, _ note: SessionNote) -> Bool {
            note.state == .signedOut && note.endedEpoch == epoch
        }
        RuleTable<(epoch: String, note: SessionNote), RepairRules.Stashed>([
            ("of the session that a logout ended", .leave, { isOfLogout($0.epoch, $0.note) }),
            ("of the note's session", .save, { !isOfLogout($0.epoch, $0.note) && $0.epoch == $0.note.epoch }),
            ("of a sign-in that is being written", .leave, { $0.epoch == $0.note.nextEpoch }),
            (
                "of any other session", .queue,
                {
                    !isOfLogout($0.epoch, $0.note) && $0.epoch != $0.note.epoch && $0.epoch != $0.note.nextEpoch
                }
            ),
        ]).check(all) { RepairRules.stashed(epoch: $0.epoch, $0.note) }
    }

    private struct Ended {
        var record: RepairRules.EndedRecord
        var note: SessionNote
        var isLater: Bool

        var isNext: Bool { if case .record(let epoch?) = record { epoch == note.nextEpoch } else { false } }
        var isOurs: Bool {
            switch record {
            case .none: note.endedEpoch != "" && !isLater
            case .record(let epoch): !isLater || (epoch ?? "") == note.endedEpoch
            }
        }
    }

    @Test func aSessionHasEnded() {
        let records = [RepairRules.EndedRecord.none] + Self.epochs.map { .record(epoch: $0) }
        let all = records.flatMap { record in
            Self.notes.flatMap { note in bools.map { Ended(record: record, note: note, isLater: $0) } }
        }
        RuleTable<Ended, RepairRules.Ending?>([
            ("no session has ended", nil, { $0.note.endedEpoch == nil }),
            ("the record of a sign-in that was cut short", nil, { $0.note.endedEpoch != nil && $0.isNext }),
            (
                "the session's record", RepairRules.Ending(clears: true, queues: true),
                {
                    $0.note.endedEpoch != nil && !$0.isNext && $0.isOurs && !$0.note.endsLocally
                }
            ),
            (
                "the session's record, after --local", RepairRules.Ending(clears: true, queues: false),
                {
                    $0.note.endedEpoch != nil && !$0.isNext && $0.isOurs && $0.note.endsLocally
                }
            ),
            (
                "a secret or record of others", RepairRules.Ending(clears: false, queues: true),
                {
                    $0.note.endedEpoch != nil && !$0.isNext && !$0.isOurs && !$0.note.endsLocally
                }
            ),
            (
                "a secret or record of others, after --local", RepairRules.Ending(clears: false, queues: false),
                {
                    $0.note.endedEpoch != nil && !$0.isNext && !$0.isOurs && $0.note.endsLocally
                }
            ),
        ]).check(all) { RepairRules.ended($0.record, $0.note, isLater: $0.isLater) }
        for (index, note) in Self.notes.enumerated() {
            #expect(RepairRules.clearsUnread(note, isLater: false) == (index == 9))
            #expect(!RepairRules.clearsUnread(note, isLater: true))
        }
    }

    private struct Items {
        var note: SessionNote
        var live: UInt8?
        var hasForeign: Bool

        var isCutShort: Bool {
            !note.nextEpoch.isEmpty && note.endedEpoch == nil && (note.epoch.isEmpty || note.state == .signedOut)
        }
    }

    @Test func aRefreshTokensItemMayBeAnOrphan() {
        let all = Self.notes.flatMap { note in
            [nil, 0, 1, 2].flatMap { live in bools.map { Items(note: note, live: live, hasForeign: $0) } }
        }
        RuleTable<Items, UInt8>([
            ("a record is to be taken over", 0, { $0.hasForeign }),
            ("the record has its refresh token", 3, { !$0.hasForeign && $0.live == 0 }),
            ("the record names the first item", 2, { !$0.hasForeign && $0.live == 1 }),
            ("the record names the second item", 1, { !$0.hasForeign && $0.live == 2 }),
            (
                "a sign-in that was cut short before its record", 3,
                { !$0.hasForeign && $0.live == nil && $0.isCutShort }
            ),
            ("no record", 0, { !$0.hasForeign && $0.live == nil && !$0.isCutShort }),
        ]).check(all) { RepairRules.orphans($0.note, live: $0.live, hasForeign: $0.hasForeign) }
    }
}
