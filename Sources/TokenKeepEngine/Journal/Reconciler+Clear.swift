import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension Reconciler {
    /// Clears the item everywhere. What cannot be reached is owed the removal.
    ///
    /// - Parameter version: where given, only if the item a load finds has it.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        if dispatcher.memory.item(name) != nil {
            // A memory-only item is what the caller sees: its version counts, and what it hid goes with it.
            _ = try dispatcher.memory.clear(name, ifVersion: version, call)
            _ = try clear(name, ifVersion: nil, call)
            return true
        }
        var isVisited = false
        let cleared: Cleared
        do throws(TokenKeepError) {
            if try !vault.exists() {
                isVisited = true
                if let wasThere = try clearWithoutRecords(name, ifVersion: version, call) { return wasThere }
            }
            cleared = try vault.change(name, call.withoutPrompts) { entry, keys throws(TokenKeepError) in
                isVisited = true
                return try change(entry, clearing: name, ifVersion: version, keys, call.withoutPrompts)
            }
        } catch {
            guard !isVisited, version == nil, error.status != .busy, error.status != .cancelled else { throw error }
            return try clearWithoutJournal(name, because: error, call)
        }
        if let problem = cleared.problem { throw problem }
        if cleared.owes {
            let left = try? settle(name, call.withoutPrompts)
            if left?.isEmpty != true, call.promptsAllowed { try? prepareAndDrain(name, call) }
        }
        return cleared.wasThere
    }

    /// Clears where no vault was made yet; nil where one is needed, because something is owed.
    private func clearWithoutRecords(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool? {
        do throws(TokenKeepError) {
            return try dispatcher.clear(name, ifVersion: version, passesOutages: false, call)
        } catch {
            guard version == nil, Reconciler.mayBePending(error) else { throw error }
            return nil
        }
    }

    /// Signing out is not kept from what can be reached. The call fails where anything may be left.
    private func clearWithoutJournal(
        _ name: ItemName, because problem: TokenKeepError, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        let wasThere = try dispatcher.clear(name, ifVersion: nil, passesOutages: false, call)
        // A record that governs still answers.
        guard (try? vault.mayHavePending()) == false else { throw problem }
        return wasThere
    }

    /// What a clear came to, when what it says of the record is durable.
    private struct Cleared {
        var wasThere: Bool
        var owes = false
        /// What is thrown all the same.
        var problem: TokenKeepError?
    }

    /// Whether a module that failed so is owed a removal.
    static func mayBePending(_ error: TokenKeepError) -> Bool {
        [.unavailable, .timedOut, .locked].contains(error.status)
    }

    private func prepareAndDrain(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        for module in debts.deferrable { try? module.prepare(call) }
        _ = try drainAsking(name, call)
    }

    private func change(
        _ entry: JournalEntry, clearing name: ItemName, ifVersion version: UInt64?, _ keys: JournalKeys,
        _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, Cleared) {
        switch entry {
        case .unreadable(let error):
            if version != nil { throw error }
            let owed = debts.afterClear([], of: item(name), holders: clearable(after: []))
            return (owed.isEmpty ? .remove : .tombstone(debts: owed), Cleared(wasThere: true, owes: true))
        case .record(let record) where debts.govern(record) || record.holdsValue && clearsRecords:
            if let version { try SaveRequest.check(version: version, of: name, present: record.openDetails()) }
            let known = record.pendingBeforeChange(keys)
            let owed = debts.afterClear(known, of: item(name), holders: clearable(after: known))
            return (
                owed.isEmpty ? .remove : .tombstone(debts: owed), Cleared(wasThere: record.holdsValue, owes: true)
            )
        case .none, .record:
            return try visit(name, ifVersion: version, over: entry.record, call)
        }
    }

    /// No module that dates nothing has the item any more.
    private func forgetArrivals(of name: ItemName) {
        for module in clearable(after: []) where !module.reportsModificationTime {
            vault.forgetSendings(of: name, to: module.name)
        }
    }

    /// Whether a line of the stack clears what the vault holds.
    private var clearsRecords: Bool { dispatcher.places(for: .clear).contains { $0.module.holdsRecords } }

    /// The debtors that lose a cleared item: those that a line clears, and those that were to get or lose it anyway.
    func clearable(after known: [PendingWrite]) -> [any Module] {
        let cleared = Set(dispatcher.places(for: .clear).map(\.module.name))
        return debts.deferrable.filter { module in
            cleared.contains(module.name) || debts.owe(known, to: module.name)
        }
    }

    /// Asks the modules, as the stack's lines for `clear` say, where no record is the truth. One that cannot be reached is
    /// owed the removal, whatever its line says of that: it counts as cleared.
    private func visit(
        _ name: ItemName, ifVersion version: UInt64?, over record: JournalRecord?, _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, Cleared) {
        let present = try version.map { (version) throws(TokenKeepError) in
            let present = try dispatcher.loadIfThere(name, call)?.details
            try SaveRequest.check(version: version, of: name, present: present)
            return present
        }
        var visit = ClearVisit(debts: debts, holder: present??.module, isRecorded: record?.details != nil)
        let walk = dispatcher.walk(.clear, name.description) { place throws(TokenKeepError) in
            // Another program may change it since it was judged.
            let version = place.module.name == visit.holder ? version : nil
            try visit.clear(name, in: place.module, ifVersion: version, call, dispatcher.trace)
            return Answered(value: ())
        }
        var cleared = Cleared(wasThere: visit.wasThere, problem: visit.cut ?? walk.failure)
        let known = record?.debts ?? []
        guard !visit.missed.isEmpty else {
            // Removing nothing is made durable too: an earlier removal may have been cut short.
            let isNothing = record == nil && cleared.problem == nil
            if isNothing { forgetArrivals(of: name) }
            return (isNothing ? .remove : .keep, cleared)
        }
        cleared.owes = true
        let foreign = known.filter { !debts.isOurs($0) }
        return (.tombstone(debts: debts.afterClear(foreign, of: item(name), holders: visit.missed)), cleared)
    }
}

/// A clear's way through the modules.
private struct ClearVisit {
    let debts: PendingWrites
    /// The module that has the version that the clear was asked for.
    let holder: String?
    /// Whether the record holds an item of the vault's that stays: then nothing can be owed.
    let isRecorded: Bool
    private(set) var wasThere = false
    private(set) var missed: [any Module] = []
    /// The caller's cancellation, where something may be gone.
    private(set) var cut: TokenKeepError?

    init(debts: PendingWrites, holder: String?, isRecorded: Bool) {
        self.debts = debts
        self.holder = holder
        self.isRecorded = isRecorded
    }

    mutating func clear(
        _ name: ItemName, in module: any Module, ifVersion version: UInt64?, _ call: CallContext,
        _ trace: StackTraceHandler?
    ) throws(TokenKeepError) {
        guard !module.holdsRecords else { return }  // what it holds is the record
        let mayHavePending = module.supportsPendingWrites && !isRecorded
        // Half of a clear must not stand: where nothing can be owed, the rest is done though the call was cancelled.
        let call = !mayHavePending && (wasThere || !missed.isEmpty) ? call.withoutCancellation : call
        do throws(TokenKeepError) {
            wasThere = try module.clear(name, ifVersion: version, call) || wasThere
        } catch {
            guard mayHavePending, isPending(error, call) else { throw error }
            trace?(.aside(.clear, name, module, error.status, "it is owed the removal"))
            if error.status == .cancelled { cut = error }
            if !missed.contains(where: { $0.name == module.name }) { missed.append(module) }
        }
    }

    /// Once something is gone, or may be, the rest is owed.
    private func isPending(_ error: TokenKeepError, _ call: CallContext) -> Bool {
        guard error.status == .cancelled else { return Reconciler.mayBePending(error) }
        return call.deadline.isCancelled && (!error.changedNothing || wasThere || !missed.isEmpty)
    }
}
