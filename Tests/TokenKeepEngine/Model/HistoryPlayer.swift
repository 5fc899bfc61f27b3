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
    /// Stands in for the kernel's keyring, which all stores share.
    private let keys = ClassKeyStore(simulatingKernelAt: { 0 })
    /// The vault's password; nil while it has none.
    private var password: String?
    /// What was locked since the last unlock; nil for nothing.
    private var locking: Locking?
    private var passwords = 0
    /// The accounts of saves that failed because the vault was locked, although their values may arrive.
    private var toRetry: Set<Int> = []
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
        records = Records(VaultOpener(path: vaultPath, residentKeys: keys, costs: .least))
        versions = Array(repeating: [], count: HistoryStep.accounts)
        _ = try records.openOrMake(CallContext(deadline: Deadline(milliseconds: 5000)))
        for store in 0..<HistoryStep.stores { stores.append(try open(store)) }
    }

    private func open(_ store: Int) throws -> Store {
        let places = second.map { store == 1 ? [$0, world] : [world, $0] } ?? [world]
        let lines = places.map { "any sufficient \($0.name)" } + ["any required vault"]
        return try world.store(
            vaultPath: vaultPath, isConnected: isConnected[store], stack: lines.joined(separator: "\n"), beside: second,
            keys: keys)
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
        if let interlude = step.interlude, !step.action.replacesKeys {
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
        case .save, .saveAt: try save(step, .none, expecting: nil, deadline, isInterlude)
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
        case .clockIsSet(let seconds): try setClock(by: seconds)
        case .secondsPass: world.now = UnixTime(world.now.rawValue + 2)
        case .setPassword, .changePassword, .removePassword: try changeKeys(step)
        case .unlock: try unlock(step)
        case .lock(let locking): try lock(step, locking)
        }
    }

    // MARK: Passwords

    private func changeKeys(_ step: HistoryStep) throws {
        passwords += 1
        let (store, new) = (stores[step.store], "p\(passwords)")
        let old = try SecretBytes(password ?? "none")
        let mayBeEnforced = items.contains(where: \.mayBeEnforced)
        var waiting = step.interlude?.step ?? []
        var broken: (any Error)?
        var wasCut = false
        let isLate = step.interlude?.calls == 1
        let progress: JournalProgress = { [unowned self] done, total in
            guard !isLate || done == total else { return }
            let steps = waiting
            waiting = []
            // Whoever writes items anew has opened the vault for all.
            if !steps.isEmpty { locking = nil }
            do {
                for step in steps {
                    try play(step, isInterlude: false)
                    wasCut = wasCut || world.wasCut
                }
            } catch { broken = error }
        }
        let (_, status) = attempt {
            switch step.action {
            case .changePassword(let isCompromised):
                try store.changePassword(
                    from: old, to: SecretBytes(new), isCompromised: isCompromised, progress: progress)
            case .removePassword: try store.removePassword(old, isDestroying: false, progress: progress)
            default: try store.setPassword(SecretBytes(new), progress: progress)
            }
        }
        note(step, "\(status)")
        if let broken { throw broken }
        switch (step.action, status) {
        case (.setPassword, .ok): try require(password == nil, step, "a second first password")
        case (.setPassword, .invalid): return try require(password != nil, step, "INVALID without a cause")
        case (_, .unsupported): return try require(password == nil, step, "UNSUPPORTED without a cause")
        case (.removePassword, .policy):
            if try isOpen { locking = nil }
            return try require(mayBeEnforced, step, "POLICY without a cause")
        case (_, .cancelled): return try require(wasCut, step, "CANCELLED by nobody")
        case (_, .ok): try require(password != nil, step, "no password to change")
        default: try require(false, step, "a change of keys failed with \(status.name)")
        }
        if case .removePassword = step.action { password = nil } else { password = new }
        locking = nil
    }

    private var isOpen: Bool {
        get throws {
            guard let keys = try records.open()?.keys else { return false }
            let purposes: [KeyPurpose] = [.metadata, .level(.whenUnlocked), .level(.afterFirstUnlock)]
            return purposes.allSatisfy { purpose in
                keys.currentKeyID(for: purpose).map { (try? keys.key($0, for: purpose)) != nil } ?? false
            }
        }
    }

    private func unlock(_ step: HistoryStep) throws {
        let (_, wrong) = attempt { try stores[step.store].unlock(SecretBytes("wrong")) }
        let (_, status) = attempt { try stores[step.store].unlock(SecretBytes(password ?? "none")) }
        note(step, "\(status)")
        try require(wrong == (password == nil ? .unsupported : .denied), step, "\(wrong.name) for a wrong password")
        try require(status == (password == nil ? .unsupported : .ok), step, "an unlock failed with \(status.name)")
        locking = nil
    }

    private func lock(_ step: HistoryStep, _ extent: Locking) throws {
        let (_, status) = attempt { try stores[step.store].lock(extent) }
        note(step, "\(status)")
        try require(status == (password == nil ? .unsupported : .ok), step, "a lock failed with \(status.name)")
        if password != nil, locking != .all { locking = extent }
    }

    /// Whether the vault has a value of the item that a lock hides.
    private func isHidden(_ account: Int) throws -> Bool {
        guard let locking, let record = try record(account), record.holdsValue else { return false }
        return locking == .all || record.details?.accessLevel == .whenUnlocked
    }

    private func record(_ account: Int) throws -> JournalRecord? {
        try records.record(of: name(account), CallContext(deadline: Deadline(milliseconds: 5000)))
    }

    // MARK: Items

    private func save(
        _ step: HistoryStep, _ precondition: SaveRequest.Precondition, expecting: String?, _ deadline: Deadline,
        _ isInterlude: Bool
    ) throws {
        saved += 1
        let value = "v\(saved)"
        let (before, wasCalm, wasLocked) = (items[step.account].possible, isCalm(step), isAnyLocked)
        let mayBeUnseen = try !isSeen(step)
        var (level, flags): (AccessLevel?, ItemFlags) = (nil, [])
        if case .saveAt(let asked, let required) = step.action { (level, flags) = (asked, required) }
        let (wasClosed, mayArriveLater) = (locking != nil, !world.isCalm || second?.isCalm == false)
        let (wasEnforced, mayBeEnforced) = (items[step.account].isEnforced, items[step.account].mayBeEnforced)
        let request = try SaveRequest(
            name: name(step.account), secret: SecretBytes(value), accessLevel: level, flags: flags,
            precondition: precondition)
        let (outcome, status) = attempt { try stores[step.store].save(request, until: deadline) }
        note(step, "\(status) \(value) \(outcome?.pendingModules ?? [])")
        if status == .policy {
            return try require(
                flags.contains(.requireEnforced) ? password == nil : mayBeEnforced && level != nil, step,
                "POLICY without a cause")
        }
        items[step.account].ask(level, flags, isAcknowledged: outcome != nil)
        if let outcome {
            let isLower = wasEnforced && level != nil && !flags.contains(.requireEnforced)
            try require(!isLower, step, "a save took the requirement away")
            items[step.account].acknowledge(value)
            learn(step.account, outcome.version, value)
            try meetUnseen(step.account)
            try checkPlace(of: value, step, outcome)
            if mayBeUnseen, try governing(step.account) == nil {
                items[step.account].mayBeShadowed(by: try world.items[name(step.account)]?.secret.utf8String)
            }
        }
        // A value that was sent may arrive, although the vault could not note that it is on its way.
        let isLate = wasClosed && mayArriveLater && (status == .locked || isOutage(status))
        if isLate { toRetry.insert(step.account) }
        if isCut(status) || isLate { return items[step.account].mayBe(value) }
        switch (precondition, status) {
        case (.none, .ok): return
        case (.none, .locked): try require(wasLocked || wasClosed, step, "LOCKED by nothing")
        case (.absent, .ok): try require(before.contains(nil) || mayBeUnseen, step, "saved over an item")
        case (.absent, .duplicate):
            try require(before != [nil] || mayBeUnseen, step, "an item that is not there")
        case (.version, .ok): try require(before.contains(expecting), step, "saved over another version")
        case (.version, .conflict): try require(before != [expecting] || mayBeUnseen, step, "nothing changed")
        case (.none, _): try require(isInterlude && status == .busy, step, "a save failed with \(status.name)")
        default:
            let hasCause = !wasCalm && isOutage(status) || wasClosed && status == .locked
            try require(hasCause || isInterlude, step, "\(status.name) without a cause")
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

    private func meetUnseen(_ account: Int) throws {
        let isPending = try governing(account) != nil
        let present = try world.items[name(account)]?.secret.utf8String
        items[account].meetUnseen(present, at: world.now, clockOffset: world.clockOffset, isPending: isPending)
    }

    private func setClock(by seconds: Int64) throws {
        world.setClock(by: seconds)
        guard seconds < 0 else { return }
        for account in items.indices { items[account].clockWasSetBack(isPending: try governing(account) != nil) }
    }

    private func acknowledgeClear(_ account: Int, _ mayMiss: Bool) throws {
        items[account].acknowledgeClear()
        try meetUnseen(account)
        if mayMiss { items[account].mayBe(world.items[try name(account)]?.secret.utf8String) }
    }

    private func clear(_ step: HistoryStep, if known: (version: UInt64, value: String), _ deadline: Deadline) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let (mayBeUnseen, mayMiss) = (try !isSeen(step), try mayMissTheirs(step, step.account))
        // What is pending is drained first, which needs the value's key.
        let wasClosed = try locking == .all || locking != nil && governing(step.account) != nil
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
        default:
            let hasCause = !wasCalm && isOutage(status) || wasClosed && status == .locked
            try require(hasCause, step, "\(status.name) without a cause")
        }
    }

    private func clearService(_ step: HistoryStep) throws {
        let (wasCalm, wasClosed) = (isCalm(step), locking == .all)
        let mayMiss = try items.indices.map { try mayMissTheirs(step, $0) }
        let (_, status) = attempt { try stores[step.store].clear(service: serviceName) }
        note(step, "\(status)")
        let hasCause = !wasCalm && isOutage(status) || wasClosed && status == .locked
        try require(status == .ok || hasCause, step, "\(status.name) without a cause")
        for account in items.indices {
            if status == .ok {
                try acknowledgeClear(account, mayMiss[account])
            } else {
                items[account].mayBe(nil)
            }
        }
    }

    private func load(_ step: HistoryStep, _ deadline: Deadline, _ isInterlude: Bool) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let isRecorded = try isGoverned(step.account)
        let wasHidden = try isHidden(step.account)
        let (item, status) = attempt {
            try stores[step.store].load(service: serviceName, account: "\(step.account)", until: deadline)
        }
        let value = item?.secret.utf8String
        note(step, "\(status) \(value ?? "")")
        guard status == .ok || status == .notFound else {
            let isOut = !wasCalm && isOutage(status) && (!isRecorded || step.interlude != nil)
            let isClosed = status == .locked && (wasHidden || locking != nil && step.interlude != nil)
            return try require(isOut || isClosed, step, "\(status.name) without a cause")
        }
        if wasHidden, step.interlude == nil, !isInterlude {
            let isElsewhere = try [world, second].contains {
                try $0?.items[name(step.account)].map { $0.secret.utf8String == value } ?? false
            }
            try require(isElsewhere, step, "\(status.name) though the vault is locked")
        }
        if status == .notFound, mayBeUnseen { return }
        let after = items[step.account].possible
        try require(
            before.contains(value) || after.contains(value), step, "expected one of \(shown(before.union(after)))")
        if step.interlude == nil, !items[step.account].mayBeShadowed { items[step.account].see(value) }
        if let item, let value { learn(step.account, item.details.version, value) }
    }

    private func list(_ step: HistoryStep) throws {
        let (before, wasCalm) = (items.map(\.possible), isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let wasClosed = locking == .all
        let (listing, status) = attempt { try stores[step.store].list(service: serviceName) }
        let listed = listing?.items.map(\.name.account) ?? []
        note(step, "\(status) \(listed) \(listing?.problem?.status.name ?? "")")
        let problem = listing.map { $0.problem?.status ?? .ok } ?? status
        let hasCause = !wasCalm && isOutage(problem) || problem == .locked && (wasClosed || locking == .all)
        try require(problem == .ok || hasCause, step, "\(problem.name) without a cause")
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
        guard kind.hasOtherPrograms, world.condition == .up, !items[step.account].mayStayInVault else { return }
        let since = try governing(step.account)
        let isLater = since.map { world.now > $0 }
        let name = try name(step.account)
        if isClear {
            guard world.remove(name) else { return }
            items[step.account].change(
                to: nil, at: world.now, clockOffset: world.clockOffset, laterThanRecord: isLater)
            return note(step, "")
        }
        saved += 1
        let value = "v\(saved)"
        try world.put(ItemDetails(name: name, label: name.defaultLabel, module: "secret-service"), SecretBytes(value))
        items[step.account].change(
            to: value, at: world.now, clockOffset: world.clockOffset, laterThanRecord: isLater)
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
        if password != nil { try unlock(HistoryStep(action: .unlock, store: 1, account: 0)) }
        for account in toRetry {
            let step = HistoryStep(action: .save, store: 1, account: account)
            try save(step, .none, expecting: nil, Deadline(milliseconds: 5000), false)
        }
        for account in items.indices {
            let step = HistoryStep(action: .load, store: 1, account: account)
            try load(step, Deadline(milliseconds: 5000), false)
            if let theirs = items[account].theirs { items[account].acknowledge(theirs) }
            items[account].endDoubt()
            try load(step, Deadline(milliseconds: 5000), false)
            try load(HistoryStep(action: .load, store: 0, account: account), Deadline(milliseconds: 5000), false)
            let values = try [world, second].compactMap { try $0?.items[name(account)]?.secret.utf8String }
            try require(values.count < 2, step, "both services have it in the end: \(values)")
            let record = try record(account)
            let isBeneath = values.isEmpty || items[account].mayBeShadowed
            let isHome = record?.isHome == true && items[account].mayStayInVault && isBeneath
            try require(
                record == nil || isHome, step,
                "a record is left: \(record.map { "\($0.holdsValue) \($0.pending)" } ?? "")")
            let value = try values.first ?? record?.item()?.secret.utf8String
            let isExpected =
                items[account].mayBeShadowed
                ? items[account].possible.contains(value) : items[account].possible == [value]
            try require(isExpected, step, "there is \(value ?? "nothing") in the end")
        }
        let list = HistoryStep(action: .list, store: 0, account: 0)
        try self.list(list)
        try require(removal() == nil, list, "the removal of the service is left")
    }

    // MARK: What is known

    private func name(_ account: Int) throws -> ItemName { try ItemName(service: serviceName, account: "\(account)") }

    /// Since when the record that governs the item owes something; nil where none does.
    private func governing(_ account: Int) throws -> UnixTime? {
        let parts = try (record(account)?.pending ?? []) + (removal()?.pending ?? [])
        return parts.map(\.since).max()
    }

    /// Whether no service is asked for the item.
    private func isGoverned(_ account: Int) throws -> Bool {
        let removed = try Set(removal()?.pending.map(\.module) ?? [])
        return try record(account)?.pending.isEmpty == false || removed.count == (second == nil ? 1 : 2)
    }

    /// The pending removal of the service.
    private func removal() throws -> JournalRecord? {
        try records.record(
            of: ItemName(removalOf: serviceName, in: ""), CallContext(deadline: Deadline(milliseconds: 5000)))
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
        if outcome.pendingModules.isEmpty, outcome.module == "vault" {
            let isHome = try record(step.account)?.holdsValue == true
            let mayBeHome = try items[step.account].mayStayInVault || !records.hasUsed(first.name)
            // What was sent before the service failed goes again.
            let mayGo = try !isThere || governing(step.account) != nil
            try require(isHome && mayGo && mayBeHome, step, "said to be in the vault")
            items[step.account].isInVault()
        } else if outcome.pendingModules.isEmpty {
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
