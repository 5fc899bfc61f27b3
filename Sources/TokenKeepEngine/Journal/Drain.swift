import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Pays what a record owes, as far as its modules can be reached.
struct Drain {
    let vault: Vault
    let debts: PendingWrites
    let name: ItemName
    let record: JournalRecord
    let keys: JournalKeys
    let call: CallContext
    /// Whether somebody asks the user about the item: until he answered, nothing is paid.
    var isHeld = false
    /// Whether an item is moved: then what another program changed meanwhile ends the move, whatever else is owed.
    var isMove = false
    /// Is told what each module answered.
    var trace: StackTraceHandler?

    /// What was paid, and what is left.
    struct Outcome {
        var change = JournalChange.keep
        var left: [PendingWrite] = []
        /// The version under which the record's value was saved; nil where it was not.
        var version: UInt64?
        /// The modules that ask their user before they let an older item go.
        var asking: Set<String> = []
        /// What another program saved since in the module that was to get the item, where the record must stay all the same.
        var newer: TokenItem?
        /// Why the first of those that were asked did not take what it is owed.
        var obstacle: TokenKeepError?

        fileprivate mutating func leave(_ debt: PendingWrite, _ error: TokenKeepError?) {
            left.append(debt)
            obstacle = obstacle ?? error
            if error?.asksBeforeDeleting == true { asking.insert(debt.module) }
        }
    }

    private enum Payment {
        /// The version under which it was saved; nil where nothing was.
        case paid(PendingWrite, version: UInt64?)
        /// nil: the module was not asked.
        case unpaid(PendingWrite, TokenKeepError? = nil)
        /// Another program changed the module's value since: theirs is newer, and stays.
        case superseded(by: TokenItem)
    }

    /// Pays, and says what becomes of the record.
    func settle() throws(TokenKeepError) -> Outcome {
        var outcome = Outcome()
        var isOver = false
        var put: (debt: PendingWrite, position: Int)?
        for debt in record.debts {
            guard let module = debts.module(of: debt) else {
                outcome.left.append(debt)
                continue
            }
            let payment = pay(debt, to: module)
            tell(payment, of: debt, module)
            switch payment {
            case .paid(let debt, let version) where debt.kind == .put:
                put = (debt, outcome.left.count)
                outcome.version = version
            case .paid: continue
            case .unpaid(let debt, let error): outcome.leave(debt, error)
            case .superseded where isMove: isOver = true
            case .superseded(let theirs) where debt.kind == .put:
                put = (debt, outcome.left.count)
                outcome.newer = theirs
            case .superseded: continue
            }
        }
        finish(&outcome, put, isOver: isOver)
        outcome.change = try change(outcome.left, isOver: isOver)
        return outcome
    }

    /// As long as another module may answer with an older item, the record answers, and remembers where it belongs.
    private func finish(_ outcome: inout Outcome, _ put: (debt: PendingWrite, position: Int)?, isOver: Bool) {
        let mustStay = outcome.left.contains(where: debts.isOurs) && !isOver
        if isOver { outcome.left.removeAll(where: debts.isOurs) }
        if !mustStay { outcome.newer = nil }
        guard let put else { return }
        if mustStay { outcome.left.insert(put.debt, at: put.position) }
        if outcome.version == nil, outcome.left.isEmpty { vault.forgetSendings(of: name, to: put.debt.module) }
    }

    private func tell(_ payment: Payment, of debt: PendingWrite, _ module: any Module) {
        let (operation, what) = debt.kind == .put ? (StackLine.Operation.save, "item") : (.clear, "removal")
        let (status, reason) =
            switch payment {
            case .paid: (Status.ok, "it was owed the \(what)")
            case .unpaid(_, let error?): (error.status, "it is still owed the \(what)")
            case .unpaid(_, nil): (.unavailable, "it is not asked now, and still owed the \(what)")
            case .superseded: (.conflict, "another program changed it since: theirs stays")
            }
        trace?(.aside(operation, name, module, status, reason))
    }

    private func change(_ left: [PendingWrite], isOver: Bool) throws(TokenKeepError) -> JournalChange {
        guard left != record.debts else { return .keep }
        guard record.state != .tombstone else { return left.isEmpty ? .remove : .tombstone(debts: left) }
        let hadPut = record.debts.contains { $0.kind == .put }
        if left.isEmpty, hadPut || isOver { return .remove }
        guard let item = try record.item() else { return .remove }
        return .value(left.isEmpty ? .home : .owed, details: item.details, secret: item.secret, debts: left)
    }

    private func pay(_ debt: PendingWrite, to module: any Module) -> Payment {
        guard !isHeld, module.mayAnswer, !call.deadline.hasPassed else { return .unpaid(debt) }
        var debt = debt
        do throws(TokenKeepError) {
            let theirs = try held(by: module)
            let ours = debt.kind == .put ? try record.item() : nil
            switch theirs {
            case .nothing: debt.base = nil
            case .item(let theirs):
                guard isKnown(theirs, to: debt, ours) else {
                    // An older one of ours may lie below another program's.
                    if theirs.details.isForeign { try removeOwn(from: module) }
                    return .superseded(by: theirs)
                }
                let base = keys.fingerprint(of: theirs.secret)
                let isThere = debt.base == base && ours.map { isUnchanged(theirs, $0, debt) } ?? false
                if isThere { return .paid(debt, version: theirs.details.version) }
                debt.base = base
            case .sealed: break
            }
            if let ours { return try send(ours, to: module, &debt) }
            // Also where there is nothing: what was noted of it goes with the removal.
            try remove(from: module)
            return .paid(debt, version: nil)
        } catch {
            return .unpaid(debt, error)
        }
    }

    /// A cleared item goes with other programs' of its name. One that lives elsewhere now costs them nothing.
    private func remove(from module: any Module) throws(TokenKeepError) {
        if record.state == .tombstone {
            _ = try module.clear(name, ifVersion: nil, call)
        } else {
            try module.clearOwn(name, call)
        }
    }

    /// Where the user would be asked about something that he does not see, it stays.
    private func removeOwn(from module: any Module) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try module.clearOwn(name, call)
        } catch {
            guard error.asksBeforeDeleting else { throw error }
        }
    }

    /// Saves the record's value in a module. Should this process be killed meanwhile, the value may arrive all the same.
    private func send(
        _ ours: TokenItem, to module: any Module, _ debt: inout PendingWrite
    ) throws(TokenKeepError) -> Payment {
        let fingerprint = keys.fingerprint(of: ours.secret)
        debt = debt.sending(fingerprint)
        vault.noteSending(fingerprint, of: name, to: module.name)
        let version = try module.save(try SaveRequest(ours), call)
        vault.noteArrival(fingerprint, of: name, in: module)
        debt.base = fingerprint
        return .paid(debt, version: version)
    }

    /// Whether the module has what it was given already, and nothing else may be on its way: then it is not given again.
    private func isUnchanged(_ theirs: TokenItem, _ ours: TokenItem, _ debt: PendingWrite) -> Bool {
        !isMove && !theirs.details.isForeign && theirs.secret == ours.secret
            && theirs.details.hasSameMetadata(as: ours.details)
            && !Protection.isAsked(by: ours.details.accessLevel, ours.details.flags)
            && debt.inFlight.allSatisfy { $0 == keys.fingerprint(of: ours.secret) }
    }

    /// What a module has of the item.
    private enum Held {
        case nothing
        case item(TokenItem)
        /// Sealed, and the vault's key is not there, or not any more.
        case sealed
    }

    private func held(by module: any Module) throws(TokenKeepError) -> Held {
        do throws(TokenKeepError) {
            return .item(try module.load(name, call))
        } catch {
            if error.status == .notFound {
                guard error.isAbsence else { return .nothing }
                // Others may keep something in it, which must not come back.
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

    /// An item that a module holds in place of the record's value, with its version where that can be told.
    typealias Outdated = (module: any Module, version: UInt64?)

    /// What these modules hold that is older than the record.
    func outdated(in modules: Set<String>) -> [Outdated] {
        let ours = (try? record.item()) ?? nil
        return record.debts.compactMap { debt in
            guard modules.contains(debt.module), let module = debts.module(of: debt), module.mayAnswer else {
                return nil
            }
            switch try? held(by: module) {
            case .item(let theirs) where isKnown(theirs, to: debt, ours): return (module, theirs.details.version)
            case .sealed: return (module, nil)
            default: return nil
            }
        }
    }

    /// Whether what the module holds is no newer than the debt: seen before, sent by us, ours, or older. Times are whole
    /// seconds; in the same one ours wins.
    private func isKnown(_ theirs: TokenItem, to debt: PendingWrite, _ ours: TokenItem?) -> Bool {
        // Nobody but a holder of the item's lock writes what is sealed.
        if theirs.details.isSealed { return true }
        // Nor does another program's item stand for one that it cannot know.
        if theirs.details.isForeign, let ours, !ours.details.flags.isDisjoint(with: .requirements) { return true }
        let fingerprint = keys.fingerprint(of: theirs.secret)
        if fingerprint == debt.base || debt.inFlight.contains(fingerprint) { return true }
        if let ours, ours.secret == theirs.secret { return true }
        if vault.sendings(of: name, to: debt.module).contains(fingerprint) { return true }
        return theirs.details.modifiedAt.map { $0 <= debt.since } ?? false
    }
}
