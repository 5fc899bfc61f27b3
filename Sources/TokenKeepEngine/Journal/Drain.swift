import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Gives modules what is pending for them in a record, as far as they answer.
struct Drain {
    let pending: PendingWrites
    let record: JournalRecord
    /// Seals for the item whose record it is.
    let call: CallContext
    /// Whether somebody asks the user about the item: until the user has answered, nothing is drained.
    var isHeld = false
    /// Whether an item is moved: then another program's change ends the move, whatever else is pending.
    var isMove = false
    /// Takes what each module answered.
    var trace: StackTraceHandler?

    /// The outcome of a drain.
    struct Outcome {
        var change = JournalChange.keep
        /// The pending writes that are left.
        var left: [PendingWrite] = []
        /// The version under which the record's value was saved; nil if it was not.
        var version: UInt64?
        /// The modules that ask their user before they let an older item go.
        var asking: Set<String> = []
        /// The value that another program saved since in the module that was to get the item, if the record must stay.
        var newer: TokenItem?
        /// Why the first module that was asked did not take its pending write.
        var obstacle: TokenKeepError?

        fileprivate mutating func leave(_ part: PendingWrite, _ error: TokenKeepError?) {
            left.append(part)
            obstacle = obstacle ?? error
            if error?.asksBeforeDeleting == true { asking.insert(part.module) }
        }
    }

    private enum Result {
        /// The module has it, under this version; nil if nothing was saved.
        case applied(PendingWrite, version: UInt64?)
        /// No error: the module was not asked.
        case notApplied(PendingWrite, TokenKeepError? = nil)
        /// Another program changed the module's value since: it is newer, and stays.
        case superseded(by: TokenItem)
    }

    /// Drains, and says what becomes of the record.
    func run(_ item: borrowing ItemTransaction) throws(TokenKeepError) -> Outcome {
        var outcome = Outcome()
        var isOver = false
        var written: (part: PendingWrite, position: Int)?
        for part in record.pending {
            guard let module = pending.module(of: part) else {
                outcome.left.append(part)
                continue
            }
            let result = apply(part, to: module, item)
            report(result, of: part, module, item.name)
            switch result {
            case .applied(let part, let version) where part.kind == .write:
                written = (part, outcome.left.count)
                outcome.version = version
            case .applied: continue
            case .notApplied(let part, let error): outcome.leave(part, error)
            case .superseded where isMove: isOver = true
            case .superseded(let theirs) where part.kind == .write:
                written = (part, outcome.left.count)
                outcome.newer = theirs
            case .superseded: continue
            }
        }
        finish(&outcome, written, isOver: isOver, item)
        outcome.change = try change(outcome.left, isOver: isOver)
        return outcome
    }

    /// As long as another module may answer with an older item, the record governs, and remembers where the item belongs.
    private func finish(
        _ outcome: inout Outcome, _ written: (part: PendingWrite, position: Int)?, isOver: Bool,
        _ item: borrowing ItemTransaction
    ) {
        let mustStay = outcome.left.contains(where: pending.isOurs) && !isOver
        if isOver { outcome.left.removeAll(where: pending.isOurs) }
        if !mustStay { outcome.newer = nil }
        guard let written else { return }
        if mustStay { outcome.left.insert(written.part, at: written.position) }
        if outcome.version == nil, outcome.left.isEmpty { item.forgetSent(to: written.part.module) }
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
                    // An older one of ours may lie below another program's.
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
            // Also if there is nothing: the notes about the item go with the removal.
            try remove(from: module, item.name)
            return .applied(part, version: nil)
        } catch {
            return .notApplied(part, error)
        }
    }

    /// A cleared item goes with other programs' of its name. One that lives elsewhere now leaves them theirs.
    private func remove(from module: any Module, _ name: ItemName) throws(TokenKeepError) {
        if record.state == .tombstone {
            _ = try module.clear(name, ifVersion: nil, call)
        } else {
            try module.clearOwn(name, call)
        }
    }

    /// An item stays if the user would be asked about it without seeing it.
    private func removeOwn(from module: any Module, _ name: ItemName) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try module.clearOwn(name, call)
        } catch {
            guard error.asksBeforeDeleting else { throw error }
        }
    }

    /// Saves the record's value in a module. If this process is killed meanwhile, the value may arrive all the same.
    private func send(
        _ ours: TokenItem, to module: any Module, _ part: inout PendingWrite, _ item: borrowing ItemTransaction
    ) throws(TokenKeepError) -> Result {
        let fingerprint = item.keys.fingerprint(of: ours.secret)
        part = part.sending(fingerprint)
        item.noteSending(fingerprint, to: module.name)
        let version = try module.save(try SaveRequest(ours), call)
        item.noteArrival(fingerprint, in: module)
        part.base = fingerprint
        return .applied(part, version: version)
    }

    /// Whether the module has the value already, and nothing else may be on its way: then it is not given again.
    private func isUnchanged(
        _ theirs: TokenItem, _ ours: TokenItem, _ part: PendingWrite, _ keys: JournalKeys
    ) -> Bool {
        !isMove && !theirs.details.isForeign && theirs.secret == ours.secret
            && theirs.details.hasSameMetadata(as: ours.details)
            && !Protection.isAsked(by: ours.details.accessLevel, ours.details.flags)
            && part.inFlight.allSatisfy { $0 == keys.fingerprint(of: ours.secret) }
    }

    /// A module's item.
    private enum Held {
        case nothing
        case item(TokenItem)
        /// Sealed, and the vault's key is not open, or not there any more.
        case sealed
    }

    private func held(by module: any Module, _ name: ItemName) throws(TokenKeepError) -> Held {
        do throws(TokenKeepError) {
            return .item(try module.load(name, call))
        } catch {
            if error.status == .notFound {
                guard error.isAbsence else { return .nothing }
                // Others may keep something in it, which must not reappear.
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

    /// An item that a module holds in place of the record's value, with its version if that can be told.
    typealias Outdated = (module: any Module, version: UInt64?)

    /// The items of these modules that are older than the record.
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

    /// Whether the module's item is no newer than the pending write: seen before, sent by us, ours, or older. Times are whole
    /// seconds; in the same one ours wins.
    private func isKnown(
        _ theirs: TokenItem, to part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> Bool {
        // Only the holder of the item's lock writes sealed values.
        if theirs.details.isSealed { return true }
        // Nor does another program's item stand for one that it cannot know.
        if theirs.details.isForeign, let ours, !ours.details.flags.isDisjoint(with: .requirements) { return true }
        let fingerprint = item.keys.fingerprint(of: theirs.secret)
        if fingerprint == part.base || part.inFlight.contains(fingerprint) { return true }
        if let ours, ours.secret == theirs.secret { return true }
        if item.sent(to: part.module).contains(fingerprint) { return true }
        return theirs.details.modifiedAt.map { $0 <= part.since } ?? false
    }
}
