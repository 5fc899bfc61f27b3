import TokenKeepCore
import TokenKeepRecords

/// The state of an item for one stack on this machine, computed from the item's record.
enum ItemState: CaseIterable {
    /// The record has no value, and no change is pending for a module of this stack on this machine.
    case none
    /// The record has a value, and no change is pending for a module of this stack on this machine.
    case home
    /// The record has the newest value. A module of this stack must still save this value, or remove an older value.
    case pending
    /// The item was cleared, and a module of this stack must still remove it.
    case removing
    /// The record is damaged or cannot be read.
    case unreadable

    /// Whether the record answers loads in place of the modules.
    var governs: Bool { self == .pending || self == .removing }
    /// Whether the record has a value.
    var holdsValue: Bool { self == .home || self == .pending }
}

/// The decisions of the journal: one function for each event of docs/journal.md.
///
/// No function here reads a file, a clock or a module. ``Reconciler``, ``Saving``, ``Clearing`` and ``PendingDrain``
/// collect the facts and carry out the actions.
enum Decisions {
    // MARK: An item is loaded

    /// The action of a load.
    enum Load: Equatable {
        /// Ask the modules in the order of the stack.
        case walk
        /// Answer from the record: with its value, or with NOT_FOUND.
        case answer(drainsThen: Bool)
        case fail
    }

    /// Decides whether a load is answered from the record or from the modules.
    ///
    /// - Parameter isDrainable: whether the load may drain, and a module with a pending change can be asked.
    static func loaded(_ state: ItemState, isDrainable: Bool) -> Load {
        switch state {
        case .none, .home: .walk
        case .pending, .removing: .answer(drainsThen: isDrainable)
        case .unreadable: .fail
        }
    }

    // MARK: An item is saved

    /// The kind of the first module that a `save` line names.
    enum First: CaseIterable {
        case vault
        /// A deferrable module that meets the item's protection requirement.
        case fit
        /// A deferrable module that does not meet the item's protection requirement, so that the vault keeps the item
        /// instead.
        case unfit
    }

    /// The first action of a save of the item.
    enum Save: Equatable {
        /// Send the value to the first module.
        case send
        /// Write the record.
        case record
        /// Write the record. If the first module is locked, the decision of ``missed(_:)`` applies instead.
        case recordUnlessLocked
        case fail
    }

    /// Decides how a save begins.
    ///
    /// - Parameter isToBeEmptied: whether the removal of all items of the service is pending for the first module.
    static func saved(_ state: ItemState, to first: First, isToBeEmptied: Bool, isConditional: Bool) -> Save {
        switch state {
        case .unreadable: isConditional ? .fail : .record
        case .home, .pending: .record
        // The vault has no value of this item yet. If the first module is locked, the value must not be written into a
        // record that the keyfile alone opens.
        case .removing: first == .fit ? .recordUnlessLocked : .record
        case .none: first != .fit ? .record : isToBeEmptied ? .recordUnlessLocked : .send
        }
    }

    /// The facts about a save that the first module missed.
    struct Miss {
        var status: Status
        /// Whether the module's `save` line ends the save at this status (the action `die`).
        var isFinal = false
        /// Whether the module's `save` line ignores this status. Never true for UNAVAILABLE and TIMED_OUT.
        var isIgnored = false
        /// Whether the caller cancelled the save at a time when the module might already have received the value.
        var isCut = false
        /// Whether the record may keep the value for a locked module, because the password encrypts the record.
        var mayWait = false
    }

    /// The action after the first module has missed a save: write the record, throw the error, or both.
    enum Missed: Equatable {
        case record, recordAndFail, fail
    }

    /// Decides how a save that the first module missed continues.
    static func missed(_ miss: Miss) -> Missed {
        if miss.isCut { return .recordAndFail }
        if miss.status == .unavailable || miss.status == .timedOut, !miss.isFinal { return .record }
        return miss.isIgnored || miss.mayWait ? .record : .fail
    }

    /// The point that a save had reached when the vault failed.
    enum Progress: CaseIterable {
        /// The item's lock could not be acquired.
        case unlocked
        /// The item's lock is held. The record has neither a value nor changes pending for this stack, so that a load
        /// still asks the modules.
        case bare
        /// The item's lock is held. The record has a value or pending changes, or is unreadable.
        case hidden
        /// The first module saves the item in several steps, and the record that must be written first could not be
        /// written.
        case ahead
    }

    /// Whether a save may continue in the modules, without a record, after the vault failed.
    ///
    /// - Parameters:
    ///   - isIgnored: whether the first `save` line ignores the vault's failure.
    ///   - isQuiet: whether it is certain that no record has pending changes.
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

    /// The first action of a clear of the item.
    enum Clear: Equatable {
        /// Write the record with the pending removals. If no removal is pending, remove the record.
        case record
        /// Clear the item in each module.
        case visit
        case fail
    }

    /// Decides how a clear begins.
    ///
    /// - Parameter clearsVault: whether the stack has a `clear` line for the vault.
    static func cleared(_ state: ItemState, clearsVault: Bool, isConditional: Bool) -> Clear {
        switch state {
        case .none: .visit
        case .home: clearsVault ? .record : .visit
        case .pending, .removing: .record
        case .unreadable: isConditional ? .fail : .record
        }
    }

    /// Whether a removal becomes pending for a module that failed to clear the item.
    ///
    /// - Parameters:
    ///   - isRecordable: whether the module is deferrable and the item's record has no value.
    ///   - isCut: whether the caller cancelled the clear at a time when a module might already have removed the item.
    static func missedClear(_ status: Status, isRecordable: Bool, isCut: Bool) -> Bool {
        isRecordable && (status == .cancelled ? isCut : isOutage(status))
    }

    /// Whether a module that failed with this status missed the removal, which then becomes pending.
    static func isOutage(_ status: Status) -> Bool { [.unavailable, .timedOut, .locked].contains(status) }

    // MARK: A pending change is drained

    /// The module's item, compared with the change that is pending for the module.
    enum Found: CaseIterable {
        /// The module was not asked, or failed.
        case unknown
        case nothing
        /// An item that the vault encrypted, under a key that is locked or lost.
        case sealed
        /// The record's value and metadata. No other value that was sent to the module can still arrive.
        case same
        /// A value that this user's programs saved with TokenKeep, according to ``ForeignChangeRule``.
        case ours
        /// Another program's value, in an item that TokenKeep created.
        case theirs
        /// Another program's item. The module may also have an item that TokenKeep created.
        case foreign
    }

    /// The action of a drain for one pending change.
    enum Drain: Equatable {
        case leave
        /// Mark the change as applied, without calling the module.
        case accept
        case save
        /// Remove the item. If `includingForeign`, also remove foreign items of the same name.
        case remove(includingForeign: Bool)
        /// Drop the pending change, because another program's value is newer. If `removingOwn`, also remove TokenKeep's
        /// older item beside the foreign item.
        case yield(removingOwn: Bool)
    }

    /// Decides about one pending change.
    ///
    /// - Parameter isLocked: whether the record's value is locked, so that its protection requirements are unknown.
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

    /// The result of a drain for one pending change.
    enum End: Equatable, CaseIterable {
        /// The change is for another stack or machine.
        case elsewhere
        /// The change is still pending, was applied as a write, or was applied as a removal.
        case left, written, removed
        /// Another program's value stays in the module. A load finds the record's value before this value.
        case superseded
        /// Another program's value stays in the module. A load finds this value before the record's value.
        case overtaken
    }

    /// Decides which pending changes a record keeps after a drain.
    ///
    /// While any change is pending, the record governs. It therefore also keeps the writes that were already applied.
    ///
    /// - Parameter isMove: whether the item is being moved. A change by another program ends the move.
    /// - Returns: whether the record keeps its value, and for each element of `ends` whether that change stays pending.
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
        // If a module has the newest value, the record need not keep a value.
        let isElsewhere = hasWrite || isOver || ends.contains(.overtaken)
        return (stays.contains(true) || !isElsewhere, stays)
    }
}
