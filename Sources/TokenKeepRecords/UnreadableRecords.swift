package import TokenKeepCore
package import TokenKeepKeys

/// Records that no key opens, so that their items cannot be named.
extension Records {
    /// Refuses a record that cannot be named and must be removed from a module too.
    ///
    /// - Throws: ``Status/corrupt``.
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

    /// Gives a record another name and removes it, so that its item is gone. Its lock is not known: the whole vault is locked.
    package func setAside(
        _ fileName: [UInt8], of vault: OpenVault, _ call: CallContext
    ) throws(TokenKeepError) {
        let lock = try VaultLock(.whole, of: vault.directory, call.until(Deadline(milliseconds: 5000)))
        defer { lock.release() }
        try VaultFiles.setAside(Hexadecimal.text(fileName), in: vault.records)
        try VaultFiles.remove(Hexadecimal.text(fileName), in: vault.records)
    }
}
