import TokenKeepCore
import TokenKeepVault

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
        if try !vault.exists() {
            do throws(TokenKeepError) {
                return try dispatcher.clear(name, ifVersion: version, call)
            } catch {
                guard version == nil, Reconciler.canBeOwed(error) else { throw error }
            }
        }
        let (wasThere, owes) = try vault.change(name, call.withoutPrompts) { entry, keys throws(TokenKeepError) in
            try change(entry, clearing: name, ifVersion: version, keys, call.withoutPrompts)
        }
        if owes {
            let left = try? settle(name, call.withoutPrompts)
            if left?.isEmpty == false, call.promptsAllowed { try? prepareAndSettle(name, call) }
        }
        return wasThere
    }

    private static func canBeOwed(_ error: TokenKeepError) -> Bool {
        [.unavailable, .timedOut, .locked].contains(error.status)
    }

    private func prepareAndSettle(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        for module in debts.debtors { try? module.prepare(call) }
        _ = try settleAsking(name, call)
    }

    private func change(
        _ entry: JournalEntry, clearing name: ItemName, ifVersion version: UInt64?, _ keys: JournalKeys,
        _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, (wasThere: Bool, owes: Bool)) {
        switch entry {
        case .unreadable(let error):
            if version != nil { throw error }
            return (.tombstone(debts: debts.afterClear([], holders: debts.debtors)), (true, true))
        case .record(let record) where debts.govern(record) || record.details != nil:
            if let version { try SaveRequest.check(version: version, of: name, present: record.details) }
            let owed = debts.afterClear(record.debtsBeforeChange(keys), holders: debts.debtors)
            return (owed.isEmpty ? .remove : .tombstone(debts: owed), (record.details != nil, true))
        case .none, .record:
            return try visit(name, ifVersion: version, after: entry.record?.debts ?? [], call)
        }
    }

    /// Asks every module, as there is no record; one that cannot be reached is owed the removal.
    private func visit(
        _ name: ItemName, ifVersion version: UInt64?, after foreign: [Debt], _ call: CallContext
    ) throws(TokenKeepError) -> (JournalChange, (wasThere: Bool, owes: Bool)) {
        var holder: String?
        if let version {
            let present = try dispatcher.loadIfThere(name, call)?.details
            try SaveRequest.check(version: version, of: name, present: present)
            holder = present?.module
        }
        var wasThere = false
        var missed: [any Module] = []
        for module in dispatcher.programs.places.map(\.module) where !module.holdsRecords {
            // Another program may change it since it was judged.
            let version = module.name == holder ? version : nil
            do throws(TokenKeepError) {
                let cleared = try ask(module, to: .clear, name, because: "a clear visits every module") {
                    () throws(TokenKeepError) in try module.clear(name, ifVersion: version, call)
                }
                wasThere = cleared || wasThere
            } catch {
                guard module.acceptsDebts, Reconciler.canBeOwed(error) else { throw error }
                if !missed.contains(where: { $0.name == module.name }) { missed.append(module) }
            }
        }
        // Removing nothing is made durable too: an earlier removal may have been cut short.
        guard !missed.isEmpty else { return (foreign.isEmpty ? .remove : .keep, (wasThere, false)) }
        let owed = foreign.map(\.ofDeletion) + debts.afterClear([], holders: missed)
        return (.tombstone(debts: owed), (wasThere, true))
    }
}
