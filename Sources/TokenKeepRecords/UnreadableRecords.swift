package import TokenKeepCore
package import TokenKeepKeys

/// Functions for records that no key opens, so that the names of their items are unknown.
extension Records {
    /// Throws ``Status/corrupt`` if an unreadable record has pending writes or removals.
    ///
    /// Such a record must not be removed: its item's name is unknown, so a module would miss the removal.
    package func checkNothingPending(_ fileName: [UInt8], of vault: OpenVault) throws(TokenKeepError) {
        var vault = vault
        let reader = RecordReader(records: self, fileName: fileName)
        guard
            case .success(false) = try reader.read(&vault, { _, state throws(FormatFault) in state.pending.isEmpty })
        else { return }
        throw TokenKeepError(
            .corrupt, "records/\(Hexadecimal.text(fileName)) cannot be opened, and has pending writes",
            module: "vault", hint: "clear the item by its name first: tokenkeep clear")
    }

    /// Renames an unreadable record, so that the vault no longer counts it as a record.
    ///
    /// Locks the whole vault, because the item's ID is unknown and the item alone cannot be locked.
    package func setAside(
        _ fileName: [UInt8], of vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) {
        let lock = try VaultLock(.whole, of: vault.directory, call.until(Deadline(milliseconds: 5000)))
        defer { lock.release() }
        try VaultFiles.setAside(Hexadecimal.text(fileName), in: vault.records)
        try VaultFiles.remove(Hexadecimal.text(fileName), in: vault.records)
    }
}
