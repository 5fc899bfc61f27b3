import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The items that would lose their protection if the vault's keys are changed.
///
/// Such an item is in a record of the vault, or is a sealed item in another module.
struct ProtectedItems {
    /// The protection that the vault loses: its password, or its device.
    enum Loss {
        /// The vault's password.
        case password
        /// The vault's device, which no longer answers.
        case device
        /// The TPM has lost the secret of the level ``AccessLevel/whenPasscodeSetThisDeviceOnly``.
        case index
    }

    /// The time limit for clearing one item, in milliseconds.
    private static let patience: UInt32 = 5000

    let store: Store
    let unlocked: UnlockedVault
    var loss = Loss.password

    /// Throws ``Status/policy`` if any item would lose its protection.
    func refuse() throws(TokenKeepError) {
        let elsewhere = try sealedElsewhere().count
        let count = try inRecords().count + elsewhere
        guard count == 0 else {
            let items = count == 1 ? "1 item" : "\(count) items"
            let message =
                switch loss {
                case .password: "\(items) \(count == 1 ? "asks" : "ask") for protection that only a password gives"
                case .device: "\(items) can be opened by that device alone"
                case .index: "\(items) can be opened with the TPM's lost secret alone"
                }
            throw TokenKeepError(
                .policy, message, module: "vault", hint: "clear them first, or have them destroyed: --destroy-items")
        }
    }

    /// The names of the items that would lose their protection; unreadable names are missing.
    func names(_ call: CallContext) throws(TokenKeepError) -> [ItemName] {
        let protected = try inRecords()
        let named = try store.records.allItems(of: unlocked.vault, call).items
            .filter { protected.contains(unlocked.vault.keys.fileName(of: $0.name)) }
        return (named.map(\.name) + (try sealedElsewhere())).sorted()
    }

    private func isProtected(_ level: AccessLevel?, _ flags: ItemFlags) -> Bool {
        switch loss {
        case .password: level == .whenPasscodeSetThisDeviceOnly || !flags.isDisjoint(with: .requirements)
        case .device: level?.needsDevice == true
        case .index: level == .whenPasscodeSetThisDeviceOnly
        }
    }

    /// Clears every item that would lose its protection, from the vault and from the modules.
    ///
    /// - Throws: an error, with nothing cleared, if an item whose name is unreadable has pending changes; the failure
    ///   of a module to clear an item.
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

    /// The file names (16 bytes each) of the vault's records that would lose their protection.
    private func inRecords() throws(TokenKeepError) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        try store.records.forEachPrefix(in: unlocked.vault) {
            if isProtected($0.level, $0.flags) { found.insert($0.name) }
        }
        return found
    }

    /// The names of sealed items in other modules that would lose their protection if the password were removed.
    ///
    /// Items whose record has a value or pending changes are left out.
    private func sealedElsewhere() throws(TokenKeepError) -> [ItemName] {
        let sealed = try SealedRecords(unlocked.vault).all()
        // A damaged record does not prevent the change, because the record is copied as it is. Any other failure may be
        // temporary and is thrown.
        if let problem = sealed.problem, problem.status != .corrupt { throw problem }
        return sealed.entries.filter { $0.isAlone && isProtected($0.copies.level, $0.copies.flags) }.map(\.name)
    }
}
