import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The items whose protection requirement needs a password, in the vault and sealed in other modules.
struct ProtectedItems {
    /// The time to wait for another process's item lock, in milliseconds.
    private static let patience: UInt32 = 5000

    let store: Store
    let unlocked: UnlockedVault

    /// Refuses to remove the password while such items exist.
    ///
    /// - Throws: ``Status/policy`` if there is such an item.
    func refuse() throws(TokenKeepError) {
        let count = try inRecords().count + sealedElsewhere().count
        guard count == 0 else {
            throw TokenKeepError(
                .policy,
                "\(count == 1 ? "1 item asks" : "\(count) items ask") for protection that only a password gives",
                module: "vault", hint: "clear them first, or have them destroyed: --destroy-items")
        }
    }

    /// Clears the items. Fails if a module that holds such an item cannot clear it.
    ///
    /// - Throws: before the first clear, if a record has pending changes but its item's name is unknown.
    func destroy(_ call: CallContext) throws(TokenKeepError) {
        let protected = try inRecords()
        let listing = try store.records.allItems(of: unlocked.vault, call)
        let named = listing.items.filter { protected.contains(unlocked.vault.keys.fileName(of: $0.name)) }
        let nameless = protected.subtracting(named.map { unlocked.vault.keys.fileName(of: $0.name) })
        for name in nameless { try store.records.checkNothingPending(name, of: unlocked.vault) }
        for name in try named.map(\.name) + sealedElsewhere() {
            do throws(TokenKeepError) {
                _ = try store.clear(name, ifVersion: nil, call.until(Deadline(milliseconds: ProtectedItems.patience)))
            } catch {
                throw TokenKeepError(
                    error.status, "\(name) is not destroyed: \(error.message)", module: error.module, hint: error.hint)
            }
        }
        for name in nameless { try store.records.setAside(name, of: unlocked.vault, call) }
    }

    /// The binary file names of the records of such items.
    private func inRecords() throws(TokenKeepError) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) {
            if !$0.flags.isDisjoint(with: .requirements) { found.insert($0.name) }
        }
        return found
    }

    /// The names of such items that other modules hold sealed and that have no record.
    private func sealedElsewhere() throws(TokenKeepError) -> [ItemName] {
        var recorded: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) { recorded.insert($0.name) }
        return try SealedNotes(unlocked.vault).all().filter {
            !$0.flags.isDisjoint(with: .requirements)
                && !recorded.contains(unlocked.vault.keys.fileName(of: $0.name))
        }.map(\.name)
    }
}
