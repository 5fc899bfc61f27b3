import TokenKeepCore
import TokenKeepRecords

/// The state of an item for one stack on this machine, computed from the item's record.
enum ItemState: CaseIterable {
    /// The record has no value, and nothing is pending here.
    case none
    /// The record has a value, and nothing is pending here.
    case home
    /// The record has a value that a module here must get, or that modules here must lose.
    case pending
    /// The item was cleared, and a module here must lose it.
    case removing
    /// The record is damaged.
    case unreadable

    /// Whether the record answers loads in place of the modules.
    var governs: Bool { self == .pending || self == .removing }
    /// Whether the record has a value.
    var holdsValue: Bool { self == .home || self == .pending }
}

/// The decisions of the journal: one function for each event of docs/journal.md.
///
/// Each function computes the next actions from the item's state and from evidence. None reads a file, a clock or a
/// module: ``Reconciler``, ``Saving``, ``Clearing`` and ``PendingDrain`` collect the evidence and carry the actions out.
enum Decisions {
    // MARK: An item is loaded

    enum Load: Equatable {
        /// Ask the modules in the order of the stack.
        case walk
        /// Answer with the record: with its value, or that there is no item.
        case answer(drainsThen: Bool)
        case fail
    }

    /// - Parameter isDrainable: whether the load may drain, and a module with a pending change may answer.
    static func loaded(_ state: ItemState, isDrainable: Bool) -> Load {
        switch state {
        case .none, .home: .walk
        case .pending, .removing: .answer(drainsThen: isDrainable)
        case .unreadable: .fail
        }
    }

    // MARK: An item is saved

    /// The first module that a `save` line names.
    enum First: CaseIterable {
        case vault
        /// A deferrable module that meets the item's protection requirement.
        case fit
        /// A deferrable module that does not: the vault keeps the item.
        case unfit
    }

    enum Save: Equatable {
        /// Send the value to the first module.
        case send
        /// Write the record.
        case record
        /// Look at the first module: if it is locked, it has missed the save, otherwise write the record.
        case recordUnlessLocked
        case fail
    }

    /// - Parameter isToBeEmptied: whether the removal of the item's service is pending for the first module.
    static func saved(_ state: ItemState, to first: First, isToBeEmptied: Bool, isConditional: Bool) -> Save {
        switch state {
        case .unreadable: isConditional ? .fail : .record
        case .home, .pending: .record
        // No value waits in the vault yet: a locked module must not bring one under the vault's keyfile.
        case .removing: first == .fit ? .recordUnlessLocked : .record
        case .none: first != .fit ? .record : isToBeEmptied ? .recordUnlessLocked : .send
        }
    }

    /// The reason why the first module missed a save.
    struct Miss {
        var status: Status
        /// Whether the module's line ends the save at this status.
        var isFinal = false
        /// Whether the module's line ignores this status, which is no outage.
        var isIgnored = false
        /// Whether the caller cancelled the save when the module might already have the value.
        var isCut = false
        /// Whether the value may wait for the locked module, because the record seals it with the password.
        var mayWait = false
    }

    enum Missed: Equatable {
        case record, recordAndFail, fail
    }

    /// The first module missed a save.
    static func missed(_ miss: Miss) -> Missed {
        if miss.isCut { return .recordAndFail }
        if miss.status == .unavailable || miss.status == .timedOut, !miss.isFinal { return .record }
        return miss.isIgnored || miss.mayWait ? .record : .fail
    }

    /// The point that a save had reached when the vault failed.
    enum Progress: CaseIterable {
        /// The item could not be locked.
        case unlocked
        /// A load would still ask the modules.
        case bare
        /// The item's record hides the modules' items.
        case hidden
        /// The record could not be written, and the first module answers.
        case ahead
    }

    /// The vault failed during a save: whether the modules save without a record.
    ///
    /// - Parameters:
    ///   - isIgnored: whether the vault's line ignores the failure, which is no outage.
    ///   - isQuiet: whether no record has pending changes.
    static func unwritten(_ progress: Progress, isVaultFirst: Bool, isIgnored: Bool, isBusy: Bool, isQuiet: Bool)
        -> Bool
    {
        switch progress {
        case .ahead: true
        case .hidden: false
        case .bare: isVaultFirst && isIgnored && !isBusy
        case .unlocked: !isVaultFirst && isQuiet && !isBusy
        }
    }

    // MARK: An item is cleared

    enum Clear: Equatable {
        /// Write the record with the pending removals; without any, remove the record.
        case record
        /// Clear in each module.
        case visit
        case fail
    }

    /// - Parameter clearsVault: whether the stack has a `clear` line for the vault.
    static func cleared(_ state: ItemState, clearsVault: Bool, isConditional: Bool) -> Clear {
        switch state {
        case .none: .visit
        case .home: clearsVault ? .record : .visit
        case .pending, .removing: .record
        case .unreadable: isConditional ? .fail : .record
        }
    }

    /// A module failed to clear the item: whether its removal becomes pending.
    ///
    /// - Parameters:
    ///   - isRecordable: whether the module is deferrable, and the vault has no item of its own there.
    ///   - isCut: whether the caller cancelled the clear, and a module may already have lost the item.
    static func missedClear(_ status: Status, isRecordable: Bool, isCut: Bool) -> Bool {
        isRecordable && (status == .cancelled ? isCut : isOutage(status))
    }

    /// Whether a module that failed with this status misses a removal, which then becomes pending.
    static func isOutage(_ status: Status) -> Bool { [.unavailable, .timedOut, .locked].contains(status) }

    // MARK: A pending change is drained

    /// The module's item, compared with the change that is pending for the module.
    enum Found: CaseIterable {
        /// The module is not asked, or failed.
        case unknown
        case nothing
        /// An item that the vault sealed, under a key that is locked or lost.
        case sealed
        /// The record's value, with the same metadata. No other value that was sent can arrive.
        case same
        /// A value that ``KnownValues`` judges ours.
        case ours
        /// Another program's value, in an item of TokenKeep.
        case theirs
        /// Another program's item. An item of TokenKeep may stand beside it.
        case foreign
    }

    enum Drain: Equatable {
        case leave
        /// Note the change as applied.
        case accept
        case save
        /// Remove the item; `includingForeign`, foreign items of the name too.
        case remove(includingForeign: Bool)
        /// Drop the change; `removingOwn`, remove TokenKeep's older item beside the foreign one.
        case yield(removingOwn: Bool)
    }

    /// - Parameter isLocked: whether the record's value is locked, so that the item's requirements are unknown.
    static func drained(
        _ kind: PendingWrite.Kind, _ state: ItemState, _ found: Found, isLocked: Bool
    ) -> Drain {
        switch found {
        case .unknown: return .leave
        case .theirs, .foreign: return isLocked ? .leave : .yield(removingOwn: found == .foreign)
        case .same where kind == .write: return .accept
        case .nothing, .sealed, .same, .ours:
            guard kind == .write else { return .remove(includingForeign: state == .removing) }
            return isLocked ? .leave : .save
        }
    }

    /// The end of one pending change in a drain.
    enum End: Equatable, CaseIterable {
        /// The change is for another stack or machine.
        case elsewhere
        case left, written, removed
        /// Another program's value stays, and no load finds it before the record's value.
        case superseded
        /// Another program's value stays, and a load finds it first.
        case overtaken
    }

    /// The drain of a record's changes has ended.
    ///
    /// While a module here may have an older item, the record also keeps the changes that were applied in other modules,
    /// because it answers every load in place of the modules.
    ///
    /// - Parameter isMove: whether the item is being moved. If another program then changes the item, the move ends.
    /// - Returns: whether the record keeps its value, if it has one, and for each change whether it stays.
    static func drained(_ ends: [End], hasWrite: Bool, isMove: Bool) -> (keepsValue: Bool, stays: [Bool]) {
        let isSuperseded = ends.contains(.superseded) || ends.contains(.overtaken)
        let isOver = isMove && isSuperseded
        let mustStay = !isOver && ends.contains(.left)
        let stays = ends.map { end in
            switch end {
            case .elsewhere: true
            case .left: !isOver
            case .written, .overtaken: mustStay
            case .removed, .superseded: false
            }
        }
        // Another module has the newest value now.
        let isElsewhere = hasWrite || isOver || ends.contains(.overtaken)
        return (stays.contains(true) || !isElsewhere, stays)
    }
}
