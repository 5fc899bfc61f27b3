import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Applies the pending writes and removals of a record to the modules that answer.
struct PendingDrain {
    let pending: PendingWrites
    let record: JournalRecord
    /// The context of the drain, with a sealer for this item's secret.
    let call: CallContext
    /// Whether a prompt about the item is open, so that no pending change is applied now.
    var isHeld = false
    /// The move of which this drain is a step; nil for an ordinary drain.
    var move: Move?
    /// Whether another program's newer value is noted as seen in the module.
    ///
    /// False in the removal of a service: a value noted as seen would count as older than the removal, and the next
    /// drain would remove it.
    var notesArrivals = true
    /// Receives an event for each module's answer; nil for no trace.
    var trace: StackTraceHandler?

    /// The move of an item to a target module. The item is removed from other modules only after a load from the target
    /// has returned the saved value.
    struct Move {
        /// The way in which the target altered the item.
        enum Alteration {
            /// The target returned another secret, which no load must find.
            case secret(SecretBytes)
            /// The target returned the same secret with other metadata.
            case metadata
        }

        let target: String
        /// Whether a load from the target has returned the item.
        fileprivate(set) var hasArrived: Bool
        /// The alteration that reading the item back has found; nil if there is none.
        fileprivate(set) var alteration: Alteration?
    }

    /// The result of a drain: the change of the record, and the results of the modules' calls.
    struct Outcome {
        var change = JournalChange.keep
        /// The pending changes that could not be applied.
        var left: [PendingWrite] = []
        /// The version of the value in the module that saved it; nil if no module has saved it.
        var version: UInt64?
        /// The modules that must prompt before they delete an older item.
        var asking: Set<String> = []
        /// Another program's newer value, if a load finds it before the record's value; otherwise nil.
        var newer: TokenItem?
        /// The first error for which a change stays pending; nil if there is none.
        var obstacle: TokenKeepError?
        /// Whether a change was pending. False if another process has drained the item meanwhile.
        var isNeeded = true
    }

    /// One pending change after the drain.
    private struct Ended {
        var part: PendingWrite
        var end: Decisions.End
        /// The version of the value that the module saved; nil if it saved none.
        var version: UInt64?
        /// Another program's value that stays in the module; nil if there is none.
        var theirs: TokenItem?
        /// The error for which the change stays pending; nil if there is none, or if the module was not asked.
        var problem: TokenKeepError?
    }

    /// Applies the record's pending changes to the modules. The result contains the change that the record then needs.
    mutating func run(_ item: borrowing ItemTransaction) throws(TokenKeepError) -> Outcome {
        var outcome = Outcome()
        var ended: [Ended] = []
        for part in record.pending {
            guard let module = pending.module(of: part) else {
                ended.append(Ended(part: part, end: .elsewhere))
                continue
            }
            let one = apply(part, to: module, item)
            ended.append(one)
            report(one, module, item.name)
            if one.end == .removed { item.forgetHolder(part.module) }
            if one.end == .written { outcome.version = one.version }
            if one.end == .overtaken, move == nil { outcome.newer = outcome.newer ?? one.theirs }
            outcome.obstacle = outcome.obstacle ?? one.problem
            if one.problem?.asksBeforeDeleting == true { outcome.asking.insert(part.module) }
        }
        let (keepsValue, stays) = Decisions.drained(
            ended.map(\.end), hasWrite: record.pending.contains { $0.kind == .write }, isMove: move != nil)
        outcome.left = zip(ended, stays).filter(\.1).map(\.0.part)
        outcome.change = try record.leaving(outcome.left, keepsValue: keepsValue)
        guard notesArrivals, move == nil, !outcome.left.contains(where: pending.isOurs) else { return outcome }
        // Other programs' values are noted as seen only if no change stays pending. Otherwise the next drain must judge
        // them again.
        for one in ended {
            guard let theirs = one.theirs else { continue }
            item.noteArrival(item.keys.fingerprint(of: theirs.secret), in: one.part.module)
        }
        return outcome
    }

    /// Whether a load would find another program's item in this module before the record's value.
    ///
    /// Call this only for a module from which the record's item must be removed.
    private func isVisible(in module: any Module) -> Bool {
        guard record.holdsValue else { return true }
        let isSent = record.pending.contains { $0.kind == .write && pending.isOurs($0) }
        return !isSent && pending.beforeVault.contains(module.name)
    }

    private func report(_ ended: Ended, _ module: any Module, _ name: ItemName) {
        guard move == nil else { return }
        let (operation, what) = ended.part.kind == .write ? (StackLine.Operation.save, "write") : (.clear, "removal")
        let (status, reason): (Status, String) =
            switch (ended.end, ended.problem) {
            case (.left, let error?): (error.status, "its \(what) is still pending")
            case (.left, nil): (.unavailable, "it is not asked now, and its \(what) is still pending")
            case (.superseded, _), (.overtaken, _): (.conflict, "another program changed it since: that change stays")
            default: (.ok, "its pending \(what) is applied")
            }
        trace?(.aside(operation, name, module, status, reason))
    }

    private mutating func apply(
        _ part: PendingWrite, to module: any Module, _ item: borrowing ItemTransaction
    ) -> Ended {
        var ended = Ended(part: part, end: .left)
        let isTurn = move.map { $0.hasArrived || $0.target == module.name } ?? true
        guard isTurn, !isHeld, module.mayAnswer, !call.deadline.hasPassed else { return ended }
        do throws(TokenKeepError) {
            let held = try held(by: module, item.name)
            let ours = part.kind == .write ? try record.item() : nil
            let found = found(held, &ended.part, ours, item)
            switch Decisions.drained(part.kind, state, found, isLocked: record.locked != nil) {
            case .leave: ended.problem = record.locked
            case .accept: (ended.end, ended.version) = (.written, held.item?.details.version)
            case .save:
                guard let ours else { return ended }
                ended.version = try send(ours, to: module, &ended.part, item)
                ended.end = .written
            case .remove(let includingForeign):
                try remove(from: module, item.name, includingForeign: includingForeign)
                ended.end = .removed
            case .yield(let removingOwn):
                if removingOwn { try removeOwn(from: module, item.name) }
                ended.end = part.kind == .write || isVisible(in: module) ? .overtaken : .superseded
                ended.theirs = held.item
            }
        } catch {
            ended.problem = error
        }
        return ended
    }

    /// Removes the item from a module. Also called if the module does not have the item, so that the module's sealed
    /// copy is no longer listed in the item's record.
    private func remove(
        from module: any Module, _ name: ItemName, includingForeign: Bool
    ) throws(TokenKeepError) {
        try moveTrace.asking(module, to: .clear, name, because: "it goes from here") { () throws(TokenKeepError) in
            if includingForeign {
                _ = try module.clear(name, ifVersion: nil, call)
            } else {
                try module.clearOwn(name, call)
            }
        }
    }

    private var state: ItemState { record.holdsValue ? .pending : .removing }

    /// Compares the module's item with the pending change, and stores the fingerprint of a known item in the change.
    private func found(
        _ held: Held, _ part: inout PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> Decisions.Found {
        switch held {
        case .sealed: return .sealed
        case .nothing:
            part.base = nil
            return .nothing
        case .item(let theirs):
            guard isKnown(theirs, to: part, ours, item) else { return theirs.details.isForeign ? .foreign : .theirs }
            let base = item.keys.fingerprint(of: theirs.secret)
            if part.base == base, let ours, isUnchanged(theirs, ours, part, item.keys) { return .same }
            part.base = base
            return .ours
        }
    }

    /// Removes TokenKeep's item from a module. Leaves the item if the module would have to prompt for the deletion.
    private func removeOwn(from module: any Module, _ name: ItemName) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try module.clearOwn(name, call)
        } catch {
            guard error.asksBeforeDeleting else { throw error }
        }
    }

    /// The trace of each module call; nil except in a move. An ordinary drain traces one event for each change.
    private var moveTrace: StackTraceHandler? { move == nil ? nil : trace }

    /// Records that the value is about to be sent, and then saves the record's value in a module.
    private mutating func send(
        _ ours: TokenItem, to module: any Module, _ part: inout PendingWrite, _ item: borrowing ItemTransaction
    ) throws(TokenKeepError) -> UInt64 {
        let fingerprint = item.keys.fingerprint(of: ours.secret)
        part = part.sending(fingerprint)
        item.noteSending(fingerprint, to: module.name)
        let request = try SaveRequest(ours)
        let version = try moveTrace.asking(module, to: .save, item.name, because: "the item goes there") {
            () throws(TokenKeepError) in try module.save(request, call)
        }
        if move?.target == module.name { try readBack(ours, from: module) }
        item.noteArrival(fingerprint, in: module.name)
        part.base = fingerprint
        return version
    }

    /// Checks that the target of a move returns the item as it was saved.
    private mutating func readBack(_ ours: TokenItem, from module: any Module) throws(TokenKeepError) {
        let name = ours.details.name
        let read = try moveTrace.asking(module, to: .load, name, because: "it is read back") {
            () throws(TokenKeepError) in try module.loadIfThere(name, call)
        }
        guard let read, read.secret == ours.secret else {
            move?.alteration = read.map { .secret($0.secret) }
            throw TokenKeepError(
                .corrupt, "\(name) does not read back as it was saved", module: module.name,
                hint: "it stays where it was; the module may be broken")
        }
        guard read.details.hasSameMetadata(as: ours.details) else {
            move?.alteration = .metadata
            throw TokenKeepError(
                .corrupt, "the label, level or attributes of \(name) do not read back as they were saved",
                module: module.name,
                hint: "it stays where it was, and its secret is in \(module.name) too; the module may be broken")
        }
        move?.hasArrived = true
    }

    /// Whether the module already has the record's value, so that the value need not be sent again.
    ///
    /// False if another value was sent to the module and may still arrive.
    private func isUnchanged(
        _ theirs: TokenItem, _ ours: TokenItem, _ part: PendingWrite, _ keys: JournalKeys
    ) -> Bool {
        move == nil && !theirs.details.isForeign && theirs.secret == ours.secret
            && theirs.details.hasSameMetadata(as: ours.details)
            && !Protection.isAsked(by: ours.details.accessLevel, ours.details.flags)
            && part.inFlight.allSatisfy { $0 == keys.fingerprint(of: ours.secret) }
    }

    /// The result of loading the item from a module.
    private enum Held {
        case nothing
        case item(TokenItem)
        /// The module's item is sealed under a key of the vault that is locked or lost.
        case sealed

        var item: TokenItem? {
            guard case .item(let item) = self else { return nil }
            return item
        }
    }

    private func held(by module: any Module, _ name: ItemName) throws(TokenKeepError) -> Held {
        do throws(TokenKeepError) {
            let reason = "what it holds before it is changed"
            return .item(
                try moveTrace.asking(module, to: .load, name, because: reason) { () throws(TokenKeepError) in
                    try module.load(name, call)
                })
        } catch {
            if error.status == .notFound {
                guard error.isAbsence else { return .nothing }
                // An absent module may still have an older item, which must not reappear when the module returns.
                throw TokenKeepError(
                    .unavailable, "\(module.name) is not there", module: module.name,
                    hint:
                        "tokenkeep status says why; if there is none on this machine: tokenkeep forget \(module.name)",
                    isAbsence: true)
            }
            guard error.status == .locked || error.status == .corrupt, error.module == "vault" else { throw error }
            return .sealed
        }
    }

    /// A module whose item is older than the record, and the version of that item, if known.
    typealias Outdated = (module: any Module, version: UInt64?)

    /// Finds the named modules whose item is older than the record.
    func outdated(in modules: Set<String>, _ item: borrowing ItemTransaction) -> [Outdated] {
        let ours = (try? record.item()) ?? nil
        var outdated: [Outdated] = []
        for part in record.pending where modules.contains(part.module) {
            guard let module = pending.module(of: part), module.mayAnswer else { continue }
            switch try? held(by: module, item.name) {
            case .item(let theirs) where isKnown(theirs, to: part, ours, item):
                outdated.append((module, theirs.details.version))
            case .sealed: outdated.append((module, nil))
            default: continue
            }
        }
        return outdated
    }
}

extension ItemDetails {
    /// Whether the items have the same label, attributes, level, flags and expiry.
    func hasSameMetadata(as other: ItemDetails) -> Bool {
        label == other.label && attributes == other.attributes && accessLevel == other.accessLevel
            && flags == other.flags && expiresAt == other.expiresAt
    }
}
