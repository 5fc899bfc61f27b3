import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// What a history did that it must not.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// In what world a history is played.
enum HistoryWorld: CaseIterable {
    /// The default stack.
    case oneService
    /// The same; a save over an item takes several steps, which are written ahead.
    case inSteps
    /// A service that dates nothing, which no other program uses.
    case undated
    /// Two services, which no other program uses: one of the stores has them in the other order.
    case twoServices

    var hasOtherPrograms: Bool { self == .oneService || self == .inSteps }
}

/// Plays one history with stores on one vault, and compares every answer with the model.
final class HistoryPlayer: @unchecked Sendable {
    private let vaultPath: String
    private let records: Records
    private let serviceName: String
    private let kind: HistoryWorld
    private let world = ScriptedService()
    private let second: ScriptedService?
    private var stores: [Store] = []
    private var isConnected = [true, true, false]
    var items = [ItemModel](repeating: ItemModel(), count: HistoryStep.accounts)
    /// The values by the versions under which they were acknowledged or read, the earliest first.
    private var versions: [[(version: UInt64, value: String)]]
    private var saved = 0
    private(set) var log: [String] = []

    init(_ kind: HistoryWorld, vaultPath: String, serviceName: String) throws {
        self.kind = kind
        second = kind == .twoServices ? ScriptedService(name: "second-service") : nil
        world.takesSteps = kind == .inSteps
        world.reportsModificationTime = kind != .undated
        self.vaultPath = vaultPath
        self.serviceName = serviceName
        records = Records(at: vaultPath)
        versions = Array(repeating: [], count: HistoryStep.accounts)
        for store in 0..<HistoryStep.stores { stores.append(try open(store)) }
    }

    private func open(_ store: Int) throws -> Store {
        let places = second.map { store == 1 ? [$0, world] : [world, $0] } ?? [world]
        let lines = places.map { "any sufficient \($0.name)" } + ["any required vault"]
        return try world.store(
            vaultPath: vaultPath, isConnected: isConnected[store], stack: lines.joined(separator: "\n"), beside: second)
    }

    /// Plays the steps, then lets everything come back and checks what remains.
    func play(_ steps: [HistoryStep]) throws {
        for step in steps { try play(step, isInterlude: false) }
        try end()
    }

    // MARK: Steps

    private func play(_ step: HistoryStep, isInterlude: Bool) throws {
        var broken: (any Error)?
        let cancel = world.cancel
        let store = stores[step.store]
        world.cancel = { store.cancel() }
        defer { world.cancel = cancel }
        if !isInterlude { world.wasCut = false }
        if let interlude = step.interlude {
            world.interlude = (
                { [unowned self] in
                    do {
                        for step in interlude.step { try play(step, isInterlude: true) }
                    } catch { broken = error }
                }, interlude.calls
            )
        }
        defer { if !isInterlude { world.interlude = nil } }
        try take(step, isInterlude)
        if let broken { throw broken }
    }

    private func take(_ step: HistoryStep, _ isInterlude: Bool) throws {
        let deadline = Deadline(milliseconds: isInterlude ? 2 : 5000)
        switch step.action {
        case .save: try save(step, .none, expecting: nil, deadline, isInterlude)
        case .saveIfAbsent: try save(step, .absent, expecting: nil, deadline, isInterlude)
        case .saveIfVersion(let isStale):
            guard let known = known(step.account, isStale: isStale) else { return }
            try save(step, .version(known.version), expecting: known.value, deadline, isInterlude)
        case .clearIfVersion(let isStale):
            guard let known = known(step.account, isStale: isStale) else { return }
            try clear(step, if: known, deadline)
        case .load: try load(step, deadline, isInterlude)
        case .clear: try clear(step, deadline, isInterlude)
        case .clearService: try clearService(step)
        case .list: try list(step)
        case .reopen(let connected):
            isConnected[step.store] = step.store == 2 ? connected : true
            stores[step.store] = try open(step.store)
        case .service(let condition): (step.account == 0 ? world : second ?? world).become(condition)
        case .fault(let fault, let calls): world.fault = (fault, calls)
        case .otherProgramSaves: try otherProgram(step, isClear: false)
        case .otherProgramClears: try otherProgram(step, isClear: true)
        case .secondsPass: world.now = UnixTime(world.now.rawValue + 2)
        }
    }

    private func save(
        _ step: HistoryStep, _ precondition: SaveRequest.Precondition, expecting: String?, _ deadline: Deadline,
        _ isInterlude: Bool
    ) throws {
        saved += 1
        let value = "v\(saved)"
        let (before, wasCalm, wasLocked) = (items[step.account].possible, isCalm(step), isAnyLocked)
        let mayBeUnseen = try !isSeen(step)
        let request = try SaveRequest(
            name: name(step.account), secret: SecretBytes(value), precondition: precondition)
        let (outcome, status) = attempt { try stores[step.store].save(request, until: deadline) }
        note(step, "\(status) \(value) \(outcome?.pendingModules ?? [])")
        if let outcome {
            items[step.account].acknowledge(value)
            learn(step.account, outcome.version, value)
            try checkPlace(of: value, step, outcome)
        }
        if isCut(status) { return items[step.account].mayBe(value) }
        switch (precondition, status) {
        case (.none, .ok): return
        case (.none, .locked): try require(wasLocked, step, "LOCKED by nothing")
        case (.absent, .ok): try require(before.contains(nil) || mayBeUnseen, step, "saved over an item")
        case (.absent, .duplicate):
            try require(before != [nil] || mayBeUnseen, step, "an item that is not there")
        case (.version, .ok): try require(before.contains(expecting), step, "saved over another version")
        case (.version, .conflict): try require(before != [expecting] || mayBeUnseen, step, "nothing changed")
        case (.none, _): try require(isInterlude && status == .busy, step, "a save failed with \(status.name)")
        default: try require(!wasCalm && isOutage(status) || isInterlude, step, "\(status.name) without a cause")
        }
    }

    private func clear(_ step: HistoryStep, _ deadline: Deadline, _ isInterlude: Bool) throws {
        let mayMiss = try mayMissTheirs(step, step.account)
        let (_, status) = attempt {
            try stores[step.store].clear(service: serviceName, account: "\(step.account)", until: deadline)
        }
        note(step, "\(status)")
        if isInterlude, status == .busy { return }
        if isCut(status) { return items[step.account].mayBe(nil) }
        try require(status == .ok, step, "a clear failed with \(status.name)")
        try acknowledgeClear(step.account, mayMiss)
    }

    /// Where it is not known that there ever was a service, what others keep in it is out of reach: unless a record that
    /// owes the service something says what was saved since.
    private func mayMissTheirs(_ step: HistoryStep, _ account: Int) throws -> Bool {
        try !isSeen(step) && governing(account) == nil
    }

    private func acknowledgeClear(_ account: Int, _ mayMiss: Bool) throws {
        items[account].acknowledge(nil)
        if mayMiss { items[account].mayBe(world.items[try name(account)]?.secret.utf8String) }
    }

    private func clear(_ step: HistoryStep, if known: (version: UInt64, value: String), _ deadline: Deadline) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let (mayBeUnseen, mayMiss) = (try !isSeen(step), try mayMissTheirs(step, step.account))
        let (_, status) = attempt {
            try stores[step.store].clear(
                service: serviceName, account: "\(step.account)", ifVersion: known.version, until: deadline)
        }
        note(step, "\(status) if \(known.value)")
        if isCut(status) { return items[step.account].mayBe(nil) }
        switch status {
        case .ok:
            try require(before.contains(known.value), step, "cleared another version")
            try acknowledgeClear(step.account, mayMiss)
        case .conflict: try require(before != [known.value] || mayBeUnseen, step, "nothing changed")
        default: try require(!wasCalm && isOutage(status), step, "\(status.name) without a cause")
        }
    }

    private func clearService(_ step: HistoryStep) throws {
        let wasCalm = isCalm(step)
        let mayMiss = try items.indices.map { try mayMissTheirs(step, $0) }
        let (_, status) = attempt { try stores[step.store].clear(service: serviceName) }
        note(step, "\(status)")
        try require(status == .ok || !wasCalm && isOutage(status), step, "\(status.name) without a cause")
        for account in items.indices {
            let mustBeCleared = status == .ok && !items[account].possible.contains(nil)
            if mustBeCleared { try acknowledgeClear(account, mayMiss[account]) } else { items[account].mayBe(nil) }
        }
    }

    private func load(_ step: HistoryStep, _ deadline: Deadline, _ isInterlude: Bool) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let isRecorded = try governing(step.account) != nil
        let (item, status) = attempt {
            try stores[step.store].load(service: serviceName, account: "\(step.account)", until: deadline)
        }
        let value = item?.secret.utf8String
        note(step, "\(status) \(value ?? "")")
        guard status == .ok || status == .notFound else {
            let hasCause = !wasCalm && isOutage(status) && (!isRecorded || step.interlude != nil)
            return try require(hasCause, step, "\(status.name) without a cause")
        }
        if status == .notFound, mayBeUnseen { return }
        let after = items[step.account].possible
        try require(
            before.contains(value) || after.contains(value), step, "expected one of \(shown(before.union(after)))")
        if step.interlude == nil { items[step.account].see(value) }
        if let item, let value { learn(step.account, item.details.version, value) }
    }

    private func list(_ step: HistoryStep) throws {
        let (before, wasCalm) = (items.map(\.possible), isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let (listing, status) = attempt { try stores[step.store].list(service: serviceName) }
        let listed = listing?.items.map(\.name.account) ?? []
        note(step, "\(status) \(listed) \(listing?.problem?.status.name ?? "")")
        let problem = listing.map { $0.problem?.status ?? .ok } ?? status
        try require(problem == .ok || !wasCalm && isOutage(problem), step, "\(problem.name) without a cause")
        guard listing != nil else { return }
        for account in items.indices {
            let possible = before[account].union(items[account].possible)
            if listed.contains("\(account)") {
                try require(possible != [nil], step, "account \(account) is listed though it was cleared")
            } else if problem == .ok, !mayBeUnseen {
                try require(possible.contains(nil), step, "account \(account) is not listed")
            }
        }
    }

    private func otherProgram(_ step: HistoryStep, isClear: Bool) throws {
        guard kind.hasOtherPrograms, world.condition == .up else { return }
        let since = try governing(step.account)
        let isLater = since.map { world.now > $0 }
        let name = try name(step.account)
        if isClear {
            guard world.remove(name) else { return }
            items[step.account].change(to: nil, laterThanRecord: isLater)
            return note(step, "")
        }
        saved += 1
        let value = "v\(saved)"
        try world.put(ItemDetails(name: name, label: name.defaultLabel, module: "secret-service"), SecretBytes(value))
        items[step.account].change(to: value, laterThanRecord: isLater)
        note(step, "\(value)\(isLater == false ? " in the same second as the record" : "")")
    }

    // MARK: The end

    /// Everything comes back: nothing is owed any more, and every store sees the same.
    private func end() throws {
        world.fault = nil
        world.become(.up)
        second?.become(.up)
        isConnected[1] = true
        stores[1] = try open(1)
        for account in items.indices {
            let step = HistoryStep(action: .load, store: 1, account: account)
            try load(step, Deadline(milliseconds: 5000), false)
            if let theirs = items[account].theirs { items[account].acknowledge(theirs) }
            items[account].endDoubt()
            try load(step, Deadline(milliseconds: 5000), false)
            try load(HistoryStep(action: .load, store: 0, account: account), Deadline(milliseconds: 5000), false)
            let values = try [world, second].compactMap { try $0?.items[name(account)]?.secret.utf8String }
            try require(values.count < 2, step, "both services have it in the end: \(values)")
            let value = values.first
            try require(items[account].possible == [value], step, "the service has \(value ?? "nothing") in the end")
            let record = try records.record(of: name(account), CallContext(deadline: Deadline(milliseconds: 5000)))
            try require(record == nil, step, "a record is left: \(record.map { "\($0.state) \($0.pending)" } ?? "")")
        }
        try list(HistoryStep(action: .list, store: 0, account: 0))
    }

    // MARK: What is known

    private func name(_ account: Int) throws -> ItemName { try ItemName(service: serviceName, account: "\(account)") }

    /// Since when the record that governs the item owes something; nil where none does.
    private func governing(_ account: Int) throws -> UnixTime? {
        let call = CallContext(deadline: Deadline(milliseconds: 5000))
        return try records.record(of: name(account), call)?.pending.map(\.since).max()
    }

    private func isCalm(_ step: HistoryStep) -> Bool {
        world.isCalm && second?.isCalm ?? true && isConnected[step.store]
    }

    private var isAnyLocked: Bool { world.condition == .locked || second?.condition == .locked }

    /// Whether the store can know that the service has items at all: one without a bus knows it by the marker alone.
    private func isSeen(_ step: HistoryStep) throws -> Bool {
        guard kind.hasOtherPrograms else { return true }
        if isConnected[step.store], world.condition != .down, world.fault == nil { return true }
        return try records.hasUsed("secret-service")
    }

    private func isOutage(_ status: Status) -> Bool {
        [.unavailable, .timedOut, .locked].contains(status) || isCut(status)
    }

    /// Whether the caller gave up, so that it need not know what became of its call.
    private func isCut(_ status: Status) -> Bool { status == .cancelled && world.wasCut }

    private func known(_ account: Int, isStale: Bool) -> (version: UInt64, value: String)? {
        isStale ? versions[account].first : versions[account].last
    }

    private func learn(_ account: Int, _ version: UInt64, _ value: String) {
        versions[account].removeAll { $0.value == value }
        versions[account].append((version, value))
    }

    /// What is said of a place must be so.
    private func checkPlace(of value: String, _ step: HistoryStep, _ outcome: SaveOutcome) throws {
        let first = step.store == 1 ? second ?? world : world
        let isThere = first.items[try name(step.account)]?.secret.utf8String == value
        if outcome.pendingModules.isEmpty {
            try require(outcome.module == first.name && isThere, step, "said to be in \(first.name)")
        } else {
            try require(governing(step.account) != nil, step, "said to be owed")
        }
    }

    private func attempt<Result>(_ body: () throws -> Result) -> (Result?, Status) {
        do {
            return (try body(), .ok)
        } catch {
            return (nil, (error as? TokenKeepError)?.status ?? .internal)
        }
    }

    private func note(_ step: HistoryStep, _ what: String) {
        log.append("\(step): \(what)   [\(world.condition), \(world.now.rawValue)]")
    }

    private func require(_ condition: Bool, _ step: HistoryStep, _ what: String) throws {
        guard !condition else { return }
        throw BrokenPromise(description: "\(step): \(what)")
    }

    private func shown(_ values: Set<String?>) -> [String] { values.map { $0 ?? "none" }.sorted() }
}
