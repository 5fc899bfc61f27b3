import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The items whose protection requires a password: records of the vault, and sealed items in other modules.
struct ProtectedItems {
    /// The time to wait for an item that another process has locked, in milliseconds.
    private static let patience: UInt32 = 5000

    let store: Store
    let unlocked: UnlockedVault

    /// Throws ``Status/policy`` if any item requires a password, so that the password is not removed.
    func refuse() throws(TokenKeepError) {
        let count = try inRecords().count + sealedElsewhere().count
        guard count == 0 else {
            throw TokenKeepError(
                .policy,
                "\(count == 1 ? "1 item asks" : "\(count) items ask") for protection that only a password gives",
                module: "vault", hint: "clear them first, or have them destroyed: --destroy-items")
        }
    }

    /// Clears every item that requires a password, from the vault and from the modules.
    ///
    /// - Throws: before the first clear, if the name of an item with pending changes is unknown; any failure of a
    ///   module to clear an item.
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

    /// The file names, as 16 bytes each, of the vault's records whose items require a password.
    private func inRecords() throws(TokenKeepError) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) {
            if !$0.flags.isDisjoint(with: .requirements) { found.insert($0.name) }
        }
        return found
    }

    /// The names of the items that require a password, are sealed in other modules, and whose records have nothing else.
    private func sealedElsewhere() throws(TokenKeepError) -> [ItemName] {
        try SealedRecords(unlocked.vault).all().entries.filter {
            $0.isAlone && !$0.copies.flags.isDisjoint(with: .requirements)
        }.map(\.name)
    }
}
