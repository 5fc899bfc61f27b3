import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Applies the pending writes and removals of a record to the modules that answer.
struct PendingDrain {
    let pending: PendingWrites
    let record: JournalRecord
    /// The deadline and other conditions of the drain. Its sealer can seal this item's secret.
    let call: CallContext
    /// Whether a prompt about the item is open. While it is open, no pending change is applied.
    var isHeld = false
    /// Whether the item is being moved. If another program then changes the item, the move ends.
    var isMove = false
    /// Whether another program's newer value counts as seen afterwards. Not while a removal stays pending that the value
    /// outlives: the next drain would take the value for one that the removal covers.
    var notesArrivals = true
    /// Receives an event for each module's answer.
    var trace: StackTraceHandler?

    /// The outcome of a drain.
    struct Outcome {
        var change = JournalChange.keep
        /// The pending changes that could not be applied.
        var left: [PendingWrite] = []
        /// The version that the module gave the saved value; nil if no module saved it.
        var version: UInt64?
        /// The modules that must prompt before they delete an older item.
        var asking: Set<String> = []
        /// The newer value that another program saved in a module.
        var newer: TokenItem?
        /// The first failure of a module to apply its pending change; nil if no module failed.
        var obstacle: TokenKeepError?

        fileprivate mutating func leave(_ part: PendingWrite, _ error: TokenKeepError?) {
            left.append(part)
            obstacle = obstacle ?? error
            if error?.asksBeforeDeleting == true { asking.insert(part.module) }
        }
    }

    private enum Result {
        /// The module applied the change. A write has the version of the saved item, a removal has nil.
        case applied(PendingWrite, version: UInt64?)
        /// The change stays pending. The error is nil if the module was not asked.
        case notApplied(PendingWrite, TokenKeepError? = nil)
        /// The change is not applied, because another program wrote a newer value into the module.
        case superseded(by: TokenItem)
    }

    /// Whether a load finds another program's item in this module instead of the vault's item.
    ///
    /// Asked for a module from which the record's item must be removed.
    private func isVisible(in module: any Module) -> Bool {
        if record.state == .tombstone { return true }
        let isSent = record.pending.contains { $0.kind == .write && pending.isOurs($0) }
        return !isSent && pending.beforeVault.contains(module.name)
    }

    /// Applies the record's pending changes, and computes the new state of the record.
    func run(_ item: borrowing ItemTransaction) throws(TokenKeepError) -> Outcome {
        var outcome = Outcome()
        var isOver = false
        var kept: [(part: PendingWrite, position: Int)] = []
        var foreign: [(module: String, item: TokenItem)] = []
        for part in record.pending {
            guard let module = pending.module(of: part) else {
                outcome.left.append(part)
                continue
            }
            let result = apply(part, to: module, item)
            report(result, of: part, module, item.name)
            switch result {
            case .applied(let part, let version) where part.kind == .write:
                kept.append((part, outcome.left.count))
                outcome.version = version
            case .applied: item.forgetHolder(part.module)
            case .notApplied(let part, let error): outcome.leave(part, error)
            case .superseded where isMove: isOver = true
            case .superseded(let theirs):
                foreign.append((part.module, theirs))
                guard part.kind == .write || isVisible(in: module) else { continue }
                kept.append((part, outcome.left.count))
                outcome.newer = outcome.newer ?? theirs
            }
        }
        let mustStay = finish(&outcome, kept, isOver: isOver)
        if !mustStay, notesArrivals {
            // Note other programs' values only if nothing stays pending: else the next drain must judge them again.
            for (module, theirs) in foreign { item.noteArrival(item.keys.fingerprint(of: theirs.secret), in: module) }
        }
        outcome.change = try change(outcome.left, isOver: isOver || outcome.newer != nil)
        return outcome
    }

    /// Keeps the record while any module may still have an older item.
    ///
    /// A kept record also keeps the applied changes of other modules, because it answers every load in place of the
    /// modules.
    ///
    /// - Returns: whether the record stays.
    private func finish(
        _ outcome: inout Outcome, _ kept: [(part: PendingWrite, position: Int)], isOver: Bool
    ) -> Bool {
        let mustStay = outcome.left.contains(where: pending.isOurs) && !isOver
        if isOver { outcome.left.removeAll(where: pending.isOurs) }
        if mustStay { for (part, position) in kept.reversed() { outcome.left.insert(part, at: position) } }
        return mustStay
    }

    private func report(_ result: Result, of part: PendingWrite, _ module: any Module, _ name: ItemName) {
        let (operation, what) = part.kind == .write ? (StackLine.Operation.save, "write") : (.clear, "removal")
        let (status, reason) =
            switch result {
            case .applied: (Status.ok, "its pending \(what) is applied")
            case .notApplied(_, let error?): (error.status, "its \(what) is still pending")
            case .notApplied(_, nil): (.unavailable, "it is not asked now, and its \(what) is still pending")
            case .superseded: (.conflict, "another program changed it since: that change stays")
            }
        trace?(.aside(operation, name, module, status, reason))
    }

    private func change(_ left: [PendingWrite], isOver: Bool) throws(TokenKeepError) -> JournalChange {
        guard left != record.pending else { return .keep }
        guard record.state != .tombstone else { return left.isEmpty ? .remove : .tombstone(pending: left) }
        let hadWrite = record.pending.contains { $0.kind == .write }
        if left.isEmpty, hadWrite || isOver { return .remove }
        guard let item = try record.item() else { return .remove }
        return .value(left.isEmpty ? .home : .pending, details: item.details, secret: item.secret, pending: left)
    }

    private func apply(_ part: PendingWrite, to module: any Module, _ item: borrowing ItemTransaction) -> Result {
        guard !isHeld, module.mayAnswer, !call.deadline.hasPassed else { return .notApplied(part) }
        var part = part
        do throws(TokenKeepError) {
            let theirs = try held(by: module, item.name)
            let ours = part.kind == .write ? try record.item() : nil
            switch theirs {
            case .nothing: part.base = nil
            case .item(let theirs):
                guard isKnown(theirs, to: part, ours, item) else {
                    // The values cannot be compared: the locked record does not tell the item's requirements.
                    if let locked = record.locked { return .notApplied(part, locked) }
                    // The module may hold another program's item and an older item of this record. Remove the older.
                    if theirs.details.isForeign { try removeOwn(from: module, item.name) }
                    return .superseded(by: theirs)
                }
                let base = item.keys.fingerprint(of: theirs.secret)
                let isThere = part.base == base && ours.map { isUnchanged(theirs, $0, part, item.keys) } ?? false
                if isThere { return .applied(part, version: theirs.details.version) }
                part.base = base
            case .sealed: break
            }
            if let ours { return try send(ours, to: module, &part, item) }
            // Called even if the module has no item, because a removal also drops the notes about the item.
            try remove(from: module, item.name)
            return .applied(part, version: nil)
        } catch {
            return .notApplied(part, error)
        }
    }

    /// Removes the item from a module.
    ///
    /// After a clear, foreign items of the same name are removed too. If the item now lives in another module, foreign
    /// items stay.
    private func remove(from module: any Module, _ name: ItemName) throws(TokenKeepError) {
        if record.state == .tombstone {
            _ = try module.clear(name, ifVersion: nil, call)
        } else {
            try module.clearOwn(name, call)
        }
    }

    /// Removes the item, unless the module would have to prompt: the user cannot see the item in question.
    private func removeOwn(from module: any Module, _ name: ItemName) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try module.clearOwn(name, call)
        } catch {
            guard error.asksBeforeDeleting else { throw error }
        }
    }

    /// Saves the record's value in a module. If this process is killed during the call, the module may still save it.
    private func send(
        _ ours: TokenItem, to module: any Module, _ part: inout PendingWrite, _ item: borrowing ItemTransaction
    ) throws(TokenKeepError) -> Result {
        let fingerprint = item.keys.fingerprint(of: ours.secret)
        part = part.sending(fingerprint)
        item.noteSending(fingerprint, to: module.name)
        let version = try module.save(try SaveRequest(ours), call)
        item.noteArrival(fingerprint, in: module.name)
        part.base = fingerprint
        return .applied(part, version: version)
    }

    /// Whether the module already has the record's value, and no other value that was sent can arrive later.
    ///
    /// If so, the value need not be sent.
    private func isUnchanged(
        _ theirs: TokenItem, _ ours: TokenItem, _ part: PendingWrite, _ keys: JournalKeys
    ) -> Bool {
        !isMove && !theirs.details.isForeign && theirs.secret == ours.secret
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
    }

    private func held(by module: any Module, _ name: ItemName) throws(TokenKeepError) -> Held {
        do throws(TokenKeepError) {
            return .item(try module.load(name, call))
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

    /// Finds those of the named modules whose item is older than the record.
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
