import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

extension HistoryPlayer {
    /// Ends every outage and doubt, then checks that nothing is pending and that all stores see the same items.
    func end() throws {
        world.fault = nil
        world.become(.up)
        second?.become(.up)
        isConnected[1] = true
        stores[1] = try open(1)
        if password != nil { try unlock(HistoryStep(action: .unlock, store: 1, account: 0)) }
        for account in toRetry {
            let step = HistoryStep(action: .save, store: 1, account: account)
            try save(step, .none, expecting: nil, .patient, false)
        }
        for account in items.indices {
            let step = HistoryStep(action: .load, store: 1, account: account)
            try load(step, .patient, false)
            if let theirs = items[account].theirs { items[account].acknowledge(theirs) }
            items[account].endDoubt()
            try load(step, .patient, false)
            try load(HistoryStep(action: .load, store: 0, account: account), .patient, false)
            let values = try [world, second].compactMap { try self.value(account, in: $0) }
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
        for account in items.indices {
            let list = HistoryStep(action: .list, store: 0, account: account)
            try self.list(list)
            try require(removal(account) == nil, list, "the removal of the service is left")
        }
        try checkSealedCopies()
    }
}

/// Questions about the real vault and services, which the model cannot answer.
extension HistoryPlayer {
    /// The time of the latest change that is pending for the item; nil if nothing is pending.
    func governing(_ account: Int) throws -> UnixTime? {
        let parts = try (record(account)?.pending ?? []) + (removal(account)?.pending ?? [])
        return parts.map(\.since).max()
    }

    /// Whether a load of the item asks no service: its record governs, or every service has a pending removal.
    func isGoverned(_ account: Int) throws -> Bool {
        let removed = try Set(removal(account)?.pending.map(\.module) ?? [])
        return try hasOwnPending(account) || removed.count == (second == nil ? 1 : 2)
    }

    /// Whether the item's own record has pending changes.
    func hasOwnPending(_ account: Int) throws -> Bool { try record(account)?.pending.isEmpty == false }

    /// The record of a pending removal of the item's whole service; nil if there is none.
    func removal(_ account: Int) throws -> JournalRecord? {
        try records.record(
            of: ItemName(removalOf: serviceName, in: name(account).namespace),
            .patient)
    }

    func isCalm(_ step: HistoryStep) -> Bool {
        world.isCalm && second?.isCalm ?? true && isConnected[step.store]
    }

    var isAnyLocked: Bool { world.condition == .locked || second?.condition == .locked }

    /// Whether the store knows that the service may have items. Without a bus, only the vault's marker of used modules
    /// tells the store.
    func isSeen(_ step: HistoryStep) throws -> Bool {
        guard kind.hasOtherPrograms else { return true }
        if isConnected[step.store], world.condition != .down, world.fault == nil { return true }
        return try records.journal.hasUsed("secret-service")
    }

    func isOutage(_ status: Status) -> Bool {
        [.unavailable, .timedOut, .locked].contains(status) || isCut(status)
    }

    /// Whether the caller cancelled the call, so that it need not learn the call's result.
    func isCut(_ status: Status) -> Bool { status == .cancelled && world.wasCut }

    func known(_ account: Int, isStale: Bool) -> (version: UInt64, value: String)? {
        isStale ? versions[account].first : versions[account].last
    }

    func learn(_ account: Int, _ version: UInt64, _ value: String) {
        versions[account].removeAll { $0.value == value }
        versions[account].append((version, value))
    }

    /// Checks that the module named by a save's outcome has the value.
    func checkPlace(of value: String, _ step: HistoryStep, _ outcome: SaveOutcome) throws {
        let first = step.store == 1 ? second ?? world : world
        let isThere = try self.value(step.account, in: first) == value
        if outcome.pendingModules.isEmpty, outcome.module == "vault" {
            let isHome = try record(step.account)?.holdsValue == true
            let mayBeHome = try items[step.account].mayStayInVault || !records.journal.hasUsed(first.name)
            // A value that the service got before it failed is sent again.
            let mayGo = try !isThere || governing(step.account) != nil
            try require(isHome && mayGo && mayBeHome, step, "said to be in the vault")
            items[step.account].isInVault()
        } else if outcome.pendingModules.isEmpty {
            try require(outcome.module == first.name && isThere, step, "said to be in \(first.name)")
        } else {
            try require(governing(step.account) != nil, step, "said to be pending")
        }
    }

    func attempt<Result>(_ body: () throws -> Result) -> (Result?, Status) {
        do {
            return (try body(), .ok)
        } catch {
            return (nil, (error as? TokenKeepError)?.status ?? .internal)
        }
    }

    func note(_ step: HistoryStep, _ what: String) {
        log.append("\(step): \(what)   [\(world.condition), \(world.now.rawValue)]")
    }

    func require(_ condition: Bool, _ step: HistoryStep, _ what: String) throws {
        guard !condition else { return }
        throw BrokenPromise(description: "\(step): \(what)")
    }

    func shown(_ values: Set<String?>) -> [String] { values.map { $0 ?? "none" }.sorted() }
}
