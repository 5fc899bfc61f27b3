import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The items that ask for protection which only a password gives, in the vault and sealed in other modules.
struct ProtectedItems {
    /// How long another process may hold one item, in milliseconds.
    private static let patience: UInt32 = 5000

    let store: Store
    let unlocked: UnlockedVault

    /// Refuses to take the password away while there are any.
    ///
    /// - Throws: ``Status/policy``.
    func refuse() throws(TokenKeepError) {
        let count = try inRecords().count + sealedElsewhere().count
        guard count == 0 else {
            throw TokenKeepError(
                .policy,
                "\(count == 1 ? "1 item asks" : "\(count) items ask") for protection that only a password gives",
                module: "vault", hint: "clear them first, or have them destroyed: --destroy-items")
        }
    }

    /// Clears them. Modules that hold such an item must lose it.
    ///
    /// - Throws: before the first item goes, if one cannot be named and has pending writes.
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

    /// The binary file names of such records.
    private func inRecords() throws(TokenKeepError) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) {
            if !$0.flags.isDisjoint(with: .requirements) { found.insert($0.name) }
        }
        return found
    }

    /// Such items that other modules hold sealed, and that no record governs.
    private func sealedElsewhere() throws(TokenKeepError) -> [ItemName] {
        var recorded: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) { recorded.insert($0.name) }
        return try SealedNotes(unlocked.vault).all().filter {
            !$0.flags.isDisjoint(with: .requirements)
                && !recorded.contains(unlocked.vault.keys.fileName(of: $0.name))
        }.map(\.name)
    }
}
