import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Computes the pending writes of a record after its item changed.
struct PendingWrites {
    /// Gives the hash of this machine, as stored in pending writes.
    let records: Records
    /// The deferrable modules of this stack.
    let deferrable: [any Module]
    /// The names of the modules that a load asks before the vault.
    var beforeVault: Set<String> = []
    /// Give the time of a change.
    let clock: @Sendable () -> UnixTime
    let clocks: @Sendable () -> ClockMark

    /// Whether the stack has a deferrable module.
    var isPossible: Bool { !deferrable.isEmpty }

    /// Whether a pending write is for a module of this stack on this machine. Any other pending write stays unchanged.
    func isOurs(_ part: PendingWrite) -> Bool { module(of: part) != nil }

    /// Whether a record governs in this stack: it has a pending write for a module of this stack on this machine.
    func govern(_ record: JournalRecord) -> Bool { record.pending.contains(where: isOurs) }

    /// Whether any module for which a record has a pending change might answer now.
    func mayBeDrained(_ record: JournalRecord) -> Bool { record.pending.contains { module(of: $0)?.mayAnswer == true } }

    /// Whether a record has a pending write for a module of this stack on this machine.
    func has(_ record: JournalRecord, for module: String) -> Bool { has(record.pending, for: module) }

    /// Whether any of these pending writes is for a module of this stack on this machine.
    func has(_ pending: [PendingWrite], for module: String) -> Bool {
        pending.contains { $0.module == module && isOurs($0) }
    }

    /// The module of a pending write; nil if the module is not in this stack or on another machine.
    func module(of part: PendingWrite) -> (any Module)? {
        guard let module = deferrable.first(where: { $0.name == part.module }),
            part.machine == records.hash(of: records.machine)
        else { return nil }
        return module
    }

    /// The fingerprints of the modules' values at the beginning of a change, by the modules' names; nil for no item. A
    /// module that could not be asked is missing.
    typealias Looks = [String: [UInt8]?]

    /// Reads the modules' values. Whoever wrote them, they are older than the change that begins now.
    func look(
        at modules: [any Module], _ item: borrowing ItemTransaction, _ call: CallContext
    ) -> Looks {
        var looks = Looks()
        for module in modules where module.mayAnswer {
            do throws(TokenKeepError) {
                let found = try module.load(item.name, call.withoutPrompts)
                looks[module.name] = .some(item.keys.fingerprint(of: found.secret))
            } catch {
                if error.status == .notFound, !error.isAbsence { looks[module.name] = .some(nil) }
            }
        }
        return looks
    }

    /// The pending writes after a save whose value belongs to `top`; `holders` may hold an older value.
    ///
    /// - Parameter isNewValue: whether the value is newer than every foreign change until now, also in modules of other
    ///   stacks.
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

    /// The pending writes after a clear: every holder must remove the item, on other machines too.
    func afterClear(
        _ pending: [PendingWrite], of item: borrowing ItemTransaction, holders: [any Module], looks: Looks = [:]
    ) -> [PendingWrite] {
        var after = pending.filter { !isOurs($0) }.map { $0.ofRemoval.renewed(at: clock(), clocks()) }
        for module in holders { after.append(part(.remove, of: item, for: module, after: pending, looks)) }
        return after
    }

    /// The new pending write for a module, with the earlier knowledge of the module's value.
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
