import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Computes the pending writes and removals of a record after its item changed.
struct PendingWrites {
    /// The vault's records, which provide the hash of this machine for each pending write.
    let records: Records
    /// The deferrable modules of this stack.
    let deferrable: [any Module]
    /// The names of the modules that a load asks before the vault.
    var beforeVault: Set<String> = []
    /// Provides the time of a new pending write.
    let clock: @Sendable () -> UnixTime
    /// Provides the state of the machine's clocks. From this state, a later drain detects that the wall clock was set
    /// back.
    let clocks: @Sendable () -> ClockMark

    /// Whether the stack has a deferrable module.
    var isPossible: Bool { !deferrable.isEmpty }

    /// Whether the module was used on this machine, and is not a Secret Service that serves this same vault.
    func wasUsed(_ module: any Module) throws(TokenKeepError) -> Bool {
        guard let module = module as? DeferrableModule else { return try records.journal.hasUsed(module.name) }
        return try module.wasUsed()
    }

    /// Whether a pending write is for a module of this stack on this machine.
    func isOurs(_ part: PendingWrite) -> Bool { module(of: part) != nil }

    /// Whether a record governs (answers loads instead of the modules): a change is pending for a module of this stack.
    func govern(_ record: JournalRecord) -> Bool { record.pending.contains(where: isOurs) }

    /// The state of an item for this stack.
    func state(of entry: JournalEntry) -> ItemState {
        switch entry {
        case .none: .none
        case .unreadable: .unreadable
        case .record(let record):
            govern(record) ? (record.holdsValue ? .pending : .removing) : record.holdsValue ? .home : .none
        }
    }

    /// Whether any module for which the record has a pending change can be asked now.
    func mayBeDrained(_ record: JournalRecord) -> Bool { record.pending.contains { module(of: $0)?.mayAnswer == true } }

    /// Whether a load can ask any module for which the record has a pending change. A load also asks a module that did
    /// not answer an earlier call.
    func mayBeDrained(_ record: JournalRecord, asking call: CallContext) -> Bool {
        record.pending.contains { module(of: $0)?.mayAnswer(asking: call) == true }
    }

    /// Whether `pending` contains a change for the named module, in this stack and on this machine.
    func has(_ pending: [PendingWrite], for module: String) -> Bool {
        pending.contains { $0.module == module && isOurs($0) }
    }

    /// Returns the module of a pending write; nil if the module is not in this stack or is on another machine.
    func module(of part: PendingWrite) -> (any Module)? {
        guard let module = deferrable.first(where: { $0.name == part.module }),
            part.machine == records.hash(of: records.machine)
        else { return nil }
        return module
    }

    /// The fingerprint of each module's value at the beginning of a change, by module name.
    ///
    /// The value is nil for a module without the item. A module that could not be asked has no entry.
    typealias Looks = [String: [UInt8]?]

    /// Reads the modules' present values, which are older than the change that begins now.
    ///
    /// - Parameter found: the item with which the change's condition was compared. The modules that were asked for this
    ///   item are not asked again, because a value that another program has written since then must not count as older.
    func look(
        at modules: [any Module], _ item: borrowing ItemTransaction, _ call: CallContext,
        after found: Dispatcher.Found? = nil
    ) -> Looks {
        var looks = Looks()
        if let module = found?.details?.module, let secret = found?.secret {
            looks[module] = .some(item.keys.fingerprint(of: secret))
        }
        for module in found?.absent ?? [] { looks[module] = .some(nil) }
        for module in modules where module.mayAnswer && looks[module.name] == nil {
            do throws(TokenKeepError) {
                let found = try module.load(item.name, call.withoutPrompts)
                looks[module.name] = .some(item.keys.fingerprint(of: found.secret))
            } catch {
                if error.status == .notFound, !error.isAbsence { looks[module.name] = .some(nil) }
            }
        }
        return looks
    }

    /// The pending changes after a save: a write for `top`, and a removal for each module of `holders`, which may have
    /// an older value.
    ///
    /// - Parameter isNewValue: whether the saved value also replaces changes that other programs have made until now.
    ///   If true, pending changes for modules of other stacks get the present time, too.
    func afterSave(
        _ pending: [PendingWrite], of item: borrowing ItemTransaction, to top: (any Module)?, holders: [any Module],
        looks: Looks = [:], isNewValue: Bool = true
    ) -> [PendingWrite] {
        var after = pending.filter { !isOurs($0) }.map { isNewValue ? $0.renewed(at: clock(), clocks()) : $0 }
        if let top { after.append(part(.write, of: item, for: top, after: pending, looks)) }
        for module in holders where module.name != top?.name {
            after.append(part(.remove, of: item, for: module, after: pending, looks))
        }
        return after
    }

    /// The pending changes after a clear: a removal for each module that may hold the item, on this machine and on
    /// other machines.
    func afterClear(
        _ pending: [PendingWrite], of item: borrowing ItemTransaction, holders: [any Module], looks: Looks = [:]
    ) -> [PendingWrite] {
        afterSave(
            pending.map { isOurs($0) ? $0 : $0.ofRemoval }, of: item, to: nil, holders: holders, looks: looks)
    }

    /// Makes a module's pending write, with the fingerprints of the module's values that are known.
    private func part(
        _ kind: PendingWrite.Kind, of item: borrowing ItemTransaction, for module: any Module,
        after pending: [PendingWrite], _ looks: Looks
    ) -> PendingWrite {
        let machine = item.machineHash
        let known = pending.first { $0.module == module.name && $0.machine == machine }
        let part = PendingWrite(
            module: module.name, machine: machine, kind: kind, since: clock(), clocks: clocks(),
            base: looks[module.name]
                ?? (known?.base ?? (module as? any RememberingModule)?.lastSeen(item.name)?.fingerprint),
            inFlight: known?.inFlight ?? [])
        return item.holder(module.name).sent.reduce(part) { $0.sending($1) }
    }
}

extension JournalRecord {
    /// The change that replaces the record's pending changes, and keeps or drops its value.
    func leaving(_ pending: [PendingWrite], keepsValue: Bool = true) throws(TokenKeepError) -> JournalChange {
        if pending == self.pending { return .keep }
        return .parts(value: keepsValue ? try item() : nil, pending: pending)
    }
}
