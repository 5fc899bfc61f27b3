import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// The steps that change or read items, with checks of their results.
extension HistoryPlayer {
    func save(
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
        let (outcome, status) = attempt { try store(step).save(request, until: deadline) }
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
                items[step.account].mayBeShadowed(by: try self.value(step.account, in: world))
            }
        }
        // A value that was sent may arrive later, although the locked vault could not note it as sent.
        let isLate = wasClosed && mayArriveLater && (status == .locked || isOutage(status))
        // The vault notes a sealed copy before the service gets it, and keeps the note if no answer comes.
        let isUnanswered = isCut(status) || status == .timedOut
        if isLate || kind == .sealed && isUnanswered { toRetry.insert(step.account) }
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

    func clear(_ step: HistoryStep, _ deadline: Deadline, _ isInterlude: Bool) throws {
        let mayMiss = try mayMissTheirs(step, step.account)
        let (_, status) = attempt {
            try store(step).clear(service: serviceName, account: name(step.account).account, until: deadline)
        }
        note(step, "\(status)")
        if isInterlude, status == .busy { return }
        if isCut(status) { return items[step.account].mayBe(nil) }
        try require(status == .ok, step, "a clear failed with \(status.name)")
        try acknowledgeClear(step.account, mayMiss)
    }

    /// Whether a clear may miss another program's item: the store does not know of the service, and nothing is pending.
    func mayMissTheirs(_ step: HistoryStep, _ account: Int) throws -> Bool {
        try !isSeen(step) && governing(account) == nil
    }

    func meetUnseen(_ account: Int) throws {
        let isPending = try governing(account) != nil
        let present = try value(account, in: world)
        items[account].meetUnseen(present, at: world.now, clockOffset: world.clockOffset, isPending: isPending)
    }

    func setClock(by seconds: Int64) throws {
        world.setClock(by: seconds)
        guard seconds < 0 else { return }
        for account in items.indices { items[account].clockWasSetBack(isPending: try governing(account) != nil) }
    }

    func acknowledgeClear(_ account: Int, _ mayMiss: Bool) throws {
        items[account].acknowledgeClear()
        try meetUnseen(account)
        if mayMiss { items[account].mayBe(try value(account, in: world)) }
    }

    func clear(_ step: HistoryStep, if known: (version: UInt64, value: String), _ deadline: Deadline) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let (mayBeUnseen, mayMiss) = (try !isSeen(step), try mayMissTheirs(step, step.account))
        // Pending changes are drained first, and that needs the key of the pending value.
        let wasHidden = try isHidden(step.account)
        let wasClosed = try locking == .all || wasHidden || locking != nil && governing(step.account) != nil
        let (_, status) = attempt {
            try store(step).clear(
                service: serviceName, account: name(step.account).account, ifVersion: known.version, until: deadline)
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

    func clearService(_ step: HistoryStep) throws {
        let (wasCalm, wasClosed) = (isCalm(step), locking == .all)
        let mayMiss = try items.indices.map { try mayMissTheirs(step, $0) }
        let (_, status) = attempt { try store(step).clear(service: serviceName) }
        note(step, "\(status)")
        let hasCause = !wasCalm && isOutage(status) || wasClosed && status == .locked
        try require(status == .ok || hasCause, step, "\(status.name) without a cause")
        for account in accounts(beside: step.account) {
            if status == .ok {
                try acknowledgeClear(account, mayMiss[account])
            } else {
                items[account].mayBe(nil)
                // The call may have recorded the removal although it failed. Another program's value is then judged as
                // after any removal.
                try meetUnseen(account)
            }
        }
    }

    func load(_ step: HistoryStep, _ deadline: Deadline, _ isInterlude: Bool) throws {
        let (before, wasCalm) = (items[step.account].possible, isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let (isRecorded, hasOwn) = (try isGoverned(step.account), try hasOwnPending(step.account))
        let wasHidden = try isHidden(step.account)
        let (item, status) = attempt {
            try store(step).load(service: serviceName, account: name(step.account).account, until: deadline)
        }
        let value = item?.secret.utf8String
        note(step, "\(status) \(value ?? "")")
        guard status == .ok || status == .notFound else {
            // After the removal of the whole service is drained, the load asks the service, which may hang.
            let isAsked = try !isRecorded || !hasOwn && !isGoverned(step.account)
            let isOut = !wasCalm && isOutage(status) && (isAsked || step.interlude != nil)
            let isClosed = status == .locked && (wasHidden || locking != nil && step.interlude != nil)
            // The record answers the load, but the call may be cancelled during the drain that follows.
            return try require(isOut || isClosed || isCut(status), step, "\(status.name) without a cause")
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

    func list(_ step: HistoryStep) throws {
        let (before, wasCalm) = (items.map(\.possible), isCalm(step))
        let mayBeUnseen = try !isSeen(step)
        let wasClosed = locking == .all
        let (listing, status) = attempt { try store(step).list(service: serviceName) }
        let listed = listing?.items.map(\.name) ?? []
        note(step, "\(status) \(listed) \(listing?.problem?.status.name ?? "")")
        let problem = listing.map { $0.problem?.status ?? .ok } ?? status
        let hasCause = !wasCalm && isOutage(problem) || problem == .locked && (wasClosed || locking == .all)
        try require(problem == .ok || hasCause, step, "\(problem.name) without a cause")
        guard listing != nil else { return }
        for account in accounts(beside: step.account) {
            let possible = before[account].union(items[account].possible)
            if listed.contains(try name(account)) {
                try require(possible != [nil], step, "account \(account) is listed though it was cleared")
            } else if problem == .ok, !mayBeUnseen {
                try require(possible.contains(nil), step, "account \(account) is not listed")
            }
        }
    }

    /// Another program saves an item.
    ///
    /// - Parameter again: a value that the item had before; nil for a new value. While a change is pending, the vault
    ///   cannot tell whether it gave such a value to the service itself.
    func otherProgram(_ step: HistoryStep, saving again: String?) throws {
        guard let since = try reach(step) else { return }
        let name = try name(step.account)
        saved += 1
        let value = again ?? "v\(saved)"
        try world.put(ItemDetails(name: name, label: name.defaultLabel, module: "secret-service"), SecretBytes(value))
        let isLater = since.map { again == nil && world.now > $0 }
        items[step.account].change(
            to: value, at: world.now, clockOffset: world.clockOffset, laterThanRecord: isLater)
        // The version may differ: the other program's item has no label, level or attributes of ours.
        if again != nil { versions[step.account].removeAll { $0.value == value } }
        note(step, "\(value)\(isLater == false ? ", no later than the record" : "")")
    }

    func otherProgramClears(_ step: HistoryStep) throws {
        guard let since = try reach(step), world.remove(try name(step.account)) else { return }
        items[step.account].change(
            to: nil, at: world.now, clockOffset: world.clockOffset, laterThanRecord: since.map { world.now > $0 })
        note(step, "")
    }

    /// The time of the item's latest pending change, or nil; `.none` if no other program can change the item.
    func reach(_ step: HistoryStep) throws -> UnixTime?? {
        guard kind.hasOtherPrograms, world.condition == .up, !items[step.account].mayStayInVault,
            try name(step.account).namespace.isEmpty
        else { return nil }
        return .some(try governing(step.account))
    }
}
