import Testing
import TokenKeepCore
import TokenKeepRecords

@testable import TokenKeepEngine

/// The rows of docs/journal.md about one event. Exactly one row applies to each evidence, and names the decision.
private struct DecisionTable<Evidence, Action: Equatable> {
    private struct Row {
        let name: String
        let action: (Evidence) -> Action
        let applies: (Evidence) -> Bool
    }
    private var rows: [Row] = []

    mutating func row(_ name: String, _ action: Action, _ applies: @escaping (Evidence) -> Bool) {
        rows.append(Row(name: name, action: { _ in action }, applies: applies))
    }

    mutating func row(
        _ name: String, by action: @escaping (Evidence) -> Action, _ applies: @escaping (Evidence) -> Bool
    ) {
        rows.append(Row(name: name, action: action, applies: applies))
    }

    func check(_ all: [Evidence], _ decide: (Evidence) -> Action) {
        for evidence in all {
            let matching = rows.filter { $0.applies(evidence) }
            let decision = decide(evidence)
            #expect(matching.count == 1, "\(evidence) is in the rows \(matching.map(\.name))")
            for row in matching { #expect(row.action(evidence) == decision, "\(row.name): \(evidence)") }
        }
        for row in rows { #expect(all.contains(where: row.applies), "no evidence for \(row.name)") }
    }
}

/// Compares the decisions with the table of docs/journal.md, for every state, event and evidence.
@Suite struct DecisionsTests {
    private static let bools = [false, true]

    // MARK: An item is loaded

    private struct Load {
        var state: ItemState
        var isDrainable: Bool
    }

    @Test func load() {
        var table = DecisionTable<Load, Decisions.Load>()
        table.row("none, home: the modules", .walk) { $0.state == .none || $0.state == .home }
        table.row("pending, removing: the record, then drain", .answer(drainsThen: true)) {
            $0.state.governs && $0.isDrainable
        }
        table.row("pending, removing, no module may answer: the record alone", .answer(drainsThen: false)) {
            $0.state.governs && !$0.isDrainable
        }
        table.row("damaged: CORRUPT", .fail) { $0.state == .unreadable }
        let all = ItemState.allCases.flatMap { state in Self.bools.map { Load(state: state, isDrainable: $0) } }
        table.check(all) { Decisions.loaded($0.state, isDrainable: $0.isDrainable) }
    }

    // MARK: An item is saved

    private struct Save {
        var state: ItemState
        var first: Decisions.First
        var isToBeEmptied: Bool
        var isConditional: Bool

        static var all: [Save] {
            var all: [Save] = []
            for state in ItemState.allCases {
                for first in Decisions.First.allCases {
                    for (one, other) in pairs {
                        all.append(Save(state: state, first: first, isToBeEmptied: one, isConditional: other))
                    }
                }
            }
            return all
        }
    }

    private static let pairs = [(false, false), (false, true), (true, false), (true, true)]

    @Test func save() {
        var table = DecisionTable<Save, Decisions.Save>()
        table.row("none: send", .send) { $0.state == .none && $0.first == .fit && !$0.isToBeEmptied }
        table.row("none, the vault takes it: home", .record) { $0.state == .none && $0.first != .fit }
        table.row("removal of the service: pending, unless LOCKED", .recordUnlessLocked) {
            $0.state == .none && $0.first == .fit && $0.isToBeEmptied
        }
        table.row("home, pending: pending", .record) { $0.state.holdsValue }
        table.row("removing: pending, unless LOCKED", .recordUnlessLocked) {
            $0.state == .removing && $0.first == .fit
        }
        table.row("removing, the vault takes it: pending removals", .record) {
            $0.state == .removing && $0.first != .fit
        }
        table.row("damaged: pending", .record) { $0.state == .unreadable && !$0.isConditional }
        table.row("damaged, a condition: CORRUPT", .fail) { $0.state == .unreadable && $0.isConditional }
        table.check(Save.all) {
            Decisions.saved(
                $0.state, to: $0.first, isToBeEmptied: $0.isToBeEmptied, isConditional: $0.isConditional)
        }
    }

    @Test func missedSave() {
        let statuses: [Status] = [.unavailable, .timedOut, .locked, .denied, .policy, .cancelled, .corrupt, .io]
        var all: [Decisions.Miss] = []
        for status in statuses {
            for (isFinal, isIgnored) in Self.pairs {
                for (isCut, mayWait) in Self.pairs {
                    all.append(
                        Decisions.Miss(
                            status: status, isFinal: isFinal, isIgnored: isIgnored, isCut: isCut, mayWait: mayWait))
                }
            }
        }
        let isOutage = { (miss: Decisions.Miss) -> Bool in
            (miss.status == .unavailable || miss.status == .timedOut) && !miss.isFinal
        }
        var table = DecisionTable<Decisions.Miss, Decisions.Missed>()
        table.row("cancelled after sending: pending, CANCELLED", .recordAndFail) { $0.isCut }
        table.row("UNAVAILABLE, TIMED_OUT: pending", .record) { !$0.isCut && isOutage($0) }
        table.row("the line ignores it, or the value may wait sealed: pending", .record) {
            !$0.isCut && !isOutage($0) && ($0.isIgnored || $0.mayWait)
        }
        table.row("any other failure: the call's answer", .fail) {
            !$0.isCut && !isOutage($0) && !$0.isIgnored && !$0.mayWait
        }
        table.check(all, Decisions.missed)
    }

    private struct Unwritten {
        var progress: Decisions.Progress
        var isVaultFirst: Bool
        var isIgnored: Bool
        var isBusy: Bool
        var isQuiet: Bool
    }

    @Test func theVaultCannotBeWritten() {
        var all: [Unwritten] = []
        for progress in Decisions.Progress.allCases {
            for (isVaultFirst, isIgnored) in Self.pairs {
                for (isBusy, isQuiet) in Self.pairs {
                    all.append(
                        Unwritten(
                            progress: progress, isVaultFirst: isVaultFirst, isIgnored: isIgnored, isBusy: isBusy,
                            isQuiet: isQuiet))
                }
            }
        }
        let isPassed = { (one: Unwritten) -> Bool in one.isVaultFirst && one.isIgnored && !one.isBusy }
        let isHarmless = { (one: Unwritten) -> Bool in !one.isVaultFirst && one.isQuiet && !one.isBusy }
        var table = DecisionTable<Unwritten, Bool>()
        table.row("ahead: the module alone", true) { $0.progress == .ahead }
        table.row("a record hides the modules: the failure", false) { $0.progress == .hidden }
        table.row("the vault is first, its line ignores that: the modules", true) {
            $0.progress == .bare && isPassed($0)
        }
        table.row("its line does not ignore that: the failure", false) { $0.progress == .bare && !isPassed($0) }
        table.row("nothing pending: the modules alone", true) { $0.progress == .unlocked && isHarmless($0) }
        table.row("the vault is first, or busy, or may hide the modules: the failure", false) {
            $0.progress == .unlocked && !isHarmless($0)
        }
        table.check(all) {
            Decisions.unwritten(
                $0.progress, isVaultFirst: $0.isVaultFirst, isIgnored: $0.isIgnored, isBusy: $0.isBusy,
                isQuiet: $0.isQuiet)
        }
    }

    // MARK: An item is cleared

    private struct Clear {
        var state: ItemState
        var clearsVault: Bool
        var isConditional: Bool
    }

    @Test func clear() {
        var table = DecisionTable<Clear, Decisions.Clear>()
        table.row("none: each module", .visit) { $0.state == .none }
        table.row("home: removing", .record) { $0.state == .home && $0.clearsVault }
        table.row("home, no line clears the vault: as none", .visit) { $0.state == .home && !$0.clearsVault }
        table.row("pending, removing: removing", .record) { $0.state.governs }
        table.row("damaged: removing", .record) { $0.state == .unreadable && !$0.isConditional }
        table.row("damaged, a condition: CORRUPT", .fail) { $0.state == .unreadable && $0.isConditional }
        let all = ItemState.allCases.flatMap { state in
            Self.pairs.map { Clear(state: state, clearsVault: $0, isConditional: $1) }
        }
        table.check(all) {
            Decisions.cleared($0.state, clearsVault: $0.clearsVault, isConditional: $0.isConditional)
        }
    }

    private struct MissedClear {
        var status: Status
        var isRecordable: Bool
        var isCut: Bool
    }

    @Test func missedClear() {
        let isOutage = { (one: MissedClear) -> Bool in
            [.unavailable, .timedOut, .locked].contains(one.status)
        }
        var table = DecisionTable<MissedClear, Bool>()
        table.row("no removal can be pending: the failure", false) { !$0.isRecordable }
        table.row("UNAVAILABLE, TIMED_OUT, LOCKED: removing", true) { $0.isRecordable && isOutage($0) }
        table.row("cancelled after the clear had begun: removing", true) {
            $0.isRecordable && $0.status == .cancelled && $0.isCut
        }
        table.row("cancelled before: CANCELLED", false) {
            $0.isRecordable && $0.status == .cancelled && !$0.isCut
        }
        table.row("any other failure: the call's answer", false) {
            $0.isRecordable && !isOutage($0) && $0.status != .cancelled
        }
        let statuses: [Status] = [.unavailable, .timedOut, .locked, .cancelled, .denied, .io, .corrupt]
        let all = statuses.flatMap { status in
            Self.pairs.map { MissedClear(status: status, isRecordable: $0, isCut: $1) }
        }
        table.check(all) { Decisions.missedClear($0.status, isRecordable: $0.isRecordable, isCut: $0.isCut) }
    }

    // MARK: A pending change is drained

    private struct Drain {
        var kind: PendingWrite.Kind
        var state: ItemState
        var found: Decisions.Found
        var isLocked: Bool

        /// Whether this combination can occur: a removal or a locked value is never compared with the record's value.
        var isPossible: Bool {
            if state == .removing, kind == .write || isLocked { return false }
            return found != .same || kind == .write && !isLocked
        }
        var isOurs: Bool { found == .nothing || found == .sealed || found == .ours }

        static var all: [Drain] {
            var all: [Drain] = []
            for kind in [PendingWrite.Kind.write, .remove] {
                for state in [ItemState.pending, .removing] {
                    for found in Decisions.Found.allCases {
                        for isLocked in bools {
                            all.append(Drain(kind: kind, state: state, found: found, isLocked: isLocked))
                        }
                    }
                }
            }
            return all.filter(\.isPossible)
        }
    }

    @Test func drain() {
        var table = DecisionTable<Drain, Decisions.Drain>()
        table.row("the module does not answer: the change stays", .leave) { $0.found == .unknown }
        table.row("nothing, or ours: write", .save) { $0.kind == .write && $0.isOurs && !$0.isLocked }
        table.row("the value is locked: the write stays", .leave) { $0.kind == .write && $0.isOurs && $0.isLocked }
        table.row("the value is there already: drop the write", .accept) { $0.found == .same }
        table.row("pending, nothing or ours: remove our item", .remove(includingForeign: false)) {
            $0.kind == .remove && $0.isOurs && $0.state == .pending
        }
        table.row("removing, nothing or ours: remove every item", .remove(includingForeign: true)) {
            $0.isOurs && $0.state == .removing
        }
        table.row("theirs: it stays", .yield(removingOwn: false)) { $0.found == .theirs && !$0.isLocked }
        table.row("a foreign item: it stays, our older one goes", .yield(removingOwn: true)) {
            $0.found == .foreign && !$0.isLocked
        }
        table.row("theirs, but the requirements are locked: undecided", .leave) {
            ($0.found == .theirs || $0.found == .foreign) && $0.isLocked
        }
        table.check(Drain.all) { Decisions.drained($0.kind, $0.state, $0.found, isLocked: $0.isLocked) }
    }

    private struct Drained {
        var ends: [Decisions.End]
        var hasWrite: Bool
        var isMove: Bool

        var isOver: Bool { isMove && (ends.contains(.superseded) || ends.contains(.overtaken)) }
        var isLeft: Bool { !isOver && ends.contains(.left) }
        var isElsewhere: Bool { !isLeft && (isOver || hasWrite || ends.contains(.overtaken)) }

        /// The members of `stays` that are among this drain's ends.
        func having(_ stays: Set<Decisions.End>) -> Set<Decisions.End> { stays.intersection(ends) }

        /// All combinations of ends for one to three changes.
        static var all: [Drained] {
            let kinds = Decisions.End.allCases
            let two = kinds.flatMap { first in kinds.map { [first, $0] } }
            let three = two.flatMap { first in kinds.map { first + [$0] } }
            let ends = kinds.map { [$0] } + two + three
            let all = ends.flatMap { ends in pairs.map { Drained(ends: ends, hasWrite: $0, isMove: $1) } }
            return all.filter { $0.hasWrite || !$0.ends.contains(.written) }
        }
    }

    /// The parts of a record that a drain leaves.
    private struct Rest: Equatable {
        var keepsValue: Bool
        var stays: Set<Decisions.End>
    }

    @Test func drainHasEnded() {
        let governing: Set<Decisions.End> = [.elsewhere, .left, .written, .overtaken]
        var table = DecisionTable<Drained, Rest>()
        table.row(
            "some modules are left: the record governs, with what was applied",
            by: { Rest(keepsValue: true, stays: $0.having(governing)) }, \.isLeft)
        table.row(
            "written, or another program's value is found first: none", Rest(keepsValue: false, stays: [])
        ) { $0.isElsewhere && !$0.ends.contains(.elsewhere) }
        table.row(
            "the same, with changes for other stacks or machines: their value stays",
            Rest(keepsValue: true, stays: [.elsewhere])
        ) { $0.isElsewhere && $0.ends.contains(.elsewhere) }
        table.row(
            "removals alone: pending → home, removing → none",
            by: { Rest(keepsValue: true, stays: $0.having([.elsewhere])) }
        ) { !$0.isLeft && !$0.isElsewhere }
        table.check(Drained.all) { evidence in
            let (keepsValue, stays) = Decisions.drained(
                evidence.ends, hasWrite: evidence.hasWrite, isMove: evidence.isMove)
            return Rest(keepsValue: keepsValue, stays: Set(zip(evidence.ends, stays).filter(\.1).map(\.0)))
        }
    }

    /// A record's state depends on its value, and on the changes that are pending for this stack.
    @Test func state() {
        let records = Records(at: "/nonexistent")
        let pending = PendingWrites(records: records, deferrable: [], clock: { .now }, clocks: { .now })
        #expect(pending.state(of: .none) == .none)
        #expect(pending.state(of: .record(JournalRecord(holdsValue: false) { nil })) == .none)
        #expect(pending.state(of: .record(JournalRecord(holdsValue: true) { nil })) == .home)
        #expect(pending.state(of: .unreadable(TokenKeepError(.corrupt, ""))) == .unreadable)
    }
}
