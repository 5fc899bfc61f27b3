import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Re-encrypts items of other modules that are under retiring (replaced) keys, and then removes those keys.
struct Resealing {
    /// An item that a module may still hold under a retiring key.
    private struct Item {
        let name: ItemName
        let module: String
        /// The hash of the machine with the sealed copy, according to the item's record; nil if no record names the
        /// copy.
        let machine: [UInt8]?
        /// Whether the copy is on another machine, although the record also names a copy on this machine.
        ///
        /// The state of the item on this machine then shows nothing about the copy on the other machine.
        var isOnlyElsewhere = false
    }

    /// The result of re-encrypting one item.
    private enum Outcome {
        /// The module has the item under the present keys, or unencrypted if it needs no encryption any more.
        case done
        /// The record has a pending change for the module, which will replace the module's item.
        case recorded
        /// The module does not have the item.
        case absent
    }

    /// The maximum time, in milliseconds, to wait for an item's lock.
    private static let patience: UInt32 = 5000
    /// The time limit for writing one item back to its module, in milliseconds.
    private static let drainMilliseconds: UInt32 = 60_000

    let records: Records
    let reconciler: Reconciler

    /// Re-encrypts every item under a retiring key, and removes the keys that no item needs any more.
    ///
    /// - Returns: the vault afterwards, and the number of encrypted secrets that no key decrypts. These secrets stay
    ///   unchanged.
    /// - Throws: the first failure to re-encrypt an item, after all others were tried. A later run may succeed.
    func run(
        _ unlocked: UnlockedVault, _ call: CallContext, progress: JournalProgress?
    ) throws(TokenKeepError) -> (UnlockedVault, unreadable: Int) {
        let call = call.withoutPrompts.granting(unlocked.presence).sealing(with: VaultSealer(records))
        let sealed = try SealedRecords(unlocked.vault).all()
        let items = recordedItems(sealed, of: unlocked.vault) + unrecordedItems(besides: sealed, call)
        var unreadable = 0
        var obstacle: TokenKeepError?
        for (index, item) in items.enumerated() {
            progress?(index, items.count)
            guard !call.deadline.hasPassed else {
                throw TokenKeepError(
                    .timedOut, "the deadline passed before every item was sealed anew", module: "vault",
                    hint: "tokenkeep unlock goes on")
            }
            do throws(TokenKeepError) {
                if try !reseal(item, call) { unreadable += 1 }
            } catch {
                obstacle = obstacle ?? error
            }
        }
        if !items.isEmpty { progress?(items.count, items.count) }
        if let obstacle { throw obstacle }
        // An unreadable record may name a sealed item, so all retiring keys are kept.
        guard !sealed.mayBeIncomplete else { return (unlocked, unreadable) }
        let dropped = try PasswordSlots(records.opener).dropRetiringKeys(unlocked, call) { () throws(TokenKeepError) in
            let present = try SealedRecords(unlocked.vault).all()
            let names = Set(items.map(\.name))
            guard !present.mayBeIncomplete,
                recordedItems(present, of: unlocked.vault).allSatisfy({ names.contains($0.name) })
            else {
                throw TokenKeepError(
                    .conflict, "an item was sealed under an older key meanwhile", module: "vault",
                    hint: "tokenkeep unlock goes on")
            }
        }
        return (dropped, unreadable)
    }

    /// Whether modules list items that this vault encrypted but that no record names.
    ///
    /// A vault restored from a backup, for example, has no records of items that were encrypted after the backup.
    func hasUnrecordedItems(besides sealed: SealedRecords.Found, _ call: CallContext) -> Bool {
        !unrecordedItems(besides: sealed, call).isEmpty
    }

    private func unrecordedItems(besides sealed: SealedRecords.Found, _ call: CallContext) -> [Item] {
        let recorded = Set(sealed.entries.map(\.name))
        var items: [Item] = []
        for module in reconciler.dispatcher.operations.places.modules {
            for name in module.sealedItems(call) where !recorded.contains(name) {
                items.append(Item(name: name, module: module.name, machine: nil))
            }
        }
        return items
    }

    /// The items that modules hold under retiring keys, according to these records.
    private func recordedItems(_ sealed: SealedRecords.Found, of vault: OpenVault) -> [Item] {
        let machine = records.hash(of: records.machine)
        var items: [Item] = []
        for entry in sealed.entries {
            let holders = entry.copies.holders
            let current = vault.keys.currentKeyID(for: .level(entry.copies.level)).map { [$0] }
            for holder in holders where holder.keyIDs != current {
                let isHereToo = holders.contains { $0.module == holder.module && $0.machine == machine }
                items.append(
                    Item(
                        name: entry.name, module: holder.module, machine: holder.machine,
                        isOnlyElsewhere: holder.machine != machine && isHereToo))
            }
        }
        return items
    }

    /// Re-encrypts one item under the vault's present key.
    ///
    /// - Returns: false if no key decrypts the item, which is then unchanged.
    private func reseal(_ item: Item, _ call: CallContext) throws(TokenKeepError) -> Bool {
        guard !item.isOnlyElsewhere else { throw missing(item) }
        let outcome: Outcome
        do throws(TokenKeepError) {
            outcome = try sealAnew(item.name, in: try module(item.module), call)
        } catch {
            guard error.status == .corrupt, error.module == "vault" else { throw error }
            // The module may have another item of this name, which does not prove that the encrypted item is gone.
            guard try module(item.module).sealedItems(call).contains(item.name) else { throw missing(item) }
            return false
        }
        switch outcome {
        case .done:
            guard let machine = item.machine else { return true }
            try records.begin(item.name, call.until(Deadline(milliseconds: Resealing.patience)))
                .noteResealed(in: item.module, on: machine)
        case .recorded where item.machine == nil || item.machine == records.hash(of: records.machine):
            // The module still has the old item, because the pending change could not be applied.
            throw TokenKeepError(
                .unavailable, "\(item.name) is not yet sealed anew in \(item.module)", module: item.module,
                hint: "tokenkeep unlock goes on")
        case .absent where try isRemoved(item): break
        case .recorded, .absent: throw missing(item)
        }
        return true
    }

    /// Re-encrypts an item: copies it into its record, and from there into its module.
    ///
    /// If the write to the module is interrupted, the write stays pending in the record.
    private func sealAnew(
        _ name: ItemName, in module: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> Outcome {
        let soon = call.until(Deadline(milliseconds: Resealing.drainMilliseconds))
        // A pending removal of the service is drained first, so that no item is written again that this removal must
        // remove.
        try reconciler.drainRemoval(before: name, soon, isNeeded: true)
        guard case .recorded = try writeAhead(name, of: module, call) else {
            return try isThere(name, in: module, call) ? .done : .absent
        }
        let drained = try? reconciler.draining(name, call.until(Deadline(milliseconds: Resealing.drainMilliseconds)))
        return drained?.left.isEmpty == true ? .done : .recorded
    }

    /// Whether the item's record no longer lists the copy on this machine, because a pending removal was applied.
    private func isRemoved(_ item: Item) throws(TokenKeepError) -> Bool {
        guard item.machine == records.hash(of: records.machine) else { return false }
        return try !VaultSealer(records).isHeldSealed(item.name, by: item.module)
    }

    private func isThere(_ name: ItemName, in module: any Module, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let item = try module.loadIfThere(name, call)
        return item.map { !$0.details.isForeign } ?? false
    }

    /// Copies the module's item into its record, with a pending write to the same module.
    private func writeAhead(
        _ name: ItemName, of module: any Module, _ call: CallContext
    ) throws(TokenKeepError) -> Outcome {
        var item = try records.begin(name, call.until(Deadline(milliseconds: Resealing.patience)))
        let call = call.sealing(with: item.sealer)
        if case .unreadable(let error) = item.entry {
            throw TokenKeepError(.unavailable, "\(name): \(error.message)", module: "vault", hint: error.hint)
        }
        if let record = item.entry.record, reconciler.pending.has(record.pending, for: module.name) { return .recorded }
        guard try !reconciler.isToBeEmptied(module, of: name, call) else {
            throw TokenKeepError(
                .unavailable, "\(name): the removal of its service is pending for \(module.name)", module: module.name)
        }
        let value = try module.loadIfThere(name, call)
        guard let value, !value.details.isForeign else { return .absent }
        guard item.entry.record == nil else {
            // The item's record must not change, so the item is saved directly in the module.
            _ = try module.save(try SaveRequest(value), call)
            return .done
        }
        try item.apply(reconciler.writingAhead(value, to: module, item))
        return .recorded
    }

    private func module(_ name: String) throws(TokenKeepError) -> any Module {
        guard let place = reconciler.dispatcher.operations.places.first(where: { $0.module.name == name }) else {
            throw TokenKeepError(
                .unavailable, "the stack has no module \(name), which holds items that the vault sealed", module: name,
                hint:
                    "tokenkeep unlock with a stack that has it; or, if its items are given up: tokenkeep forget \(name)"
            )
        }
        return place.module
    }

    private func missing(_ item: Item) -> TokenKeepError {
        let isHere = item.machine == nil || item.machine == records.hash(of: records.machine)
        return TokenKeepError(
            .unavailable,
            "\(item.name), which the vault sealed in \(item.module)\(isHere ? "" : " on another machine"), is not there",
            module: item.module,
            hint: (isHere ? "" : "run tokenkeep unlock on that machine; ")
                + "if the item is gone for good: tokenkeep clear, and tokenkeep unlock")
    }
}
