package import TokenKeepCore
package import TokenKeepKeys
package import TokenKeepRecords

/// Deletes a store's vault, and the indices that deleted vaults left in the TPM.
package struct VaultRemoval: Sendable {
    let store: Store
    private var records: Records { store.records }
    private var devices: Devices { records.opener.residentKeys.devices }

    /// The path of the vault's directory.
    package func path() throws(TokenKeepError) -> String { try records.opener.path() }

    /// Whether an earlier deletion was interrupted. ``run(check:)`` finishes it.
    package func hasBegun() throws(TokenKeepError) -> Bool {
        _ = try store.begin(.any)
        return try VaultDeletion.hasBegun(at: try path())
    }

    /// Counts the records of the vault; nil if there is no vault.
    ///
    /// - Throws: the error of reading the vault.
    package func census() throws(TokenKeepError) -> Records.Census? {
        _ = try store.begin(.any)
        guard let vault = try records.open() else { return nil }
        return try records.census(of: vault)
    }

    /// Deletes the vault. Needs no password.
    ///
    /// - Parameter check: called under the vault's lock before anything is changed. Not called if ``hasBegun()`` is
    ///   true.
    /// - Returns: the parts of the vault that could not be deleted.
    /// - Throws: ``Status/notFound`` if there is no vault; ``Status/busy`` if another process still uses the vault at
    ///   the deadline.
    package func run(check: () throws(TokenKeepError) -> Void) throws(TokenKeepError) -> VaultDeletion.Remains {
        let call = try store.begin(.any).withoutPrompts
        guard let deletion = try VaultDeletion.begin(records.opener, call, check: check) else {
            throw TokenKeepError(.notFound, "there is no vault in \(try path())")
        }
        records.announceChange()
        return try deletion.finish()
    }

    /// The indices that the TPM still has for the user although no vault on this machine uses them.
    package func orphans() throws(TokenKeepError) -> [Devices.UserIndex] {
        _ = try store.begin(.any)
        // Throw if the vault is unreadable, because any index with the vault's id may still be in use then.
        let vault = try records.open()
        do throws(DeviceFault) {
            return try devices.orphanedIndices(except: vault, records.opener.residentKeys)
        } catch {
            throw VaultRemoval.error(error)
        }
    }

    /// Destroys the given indices, which ``orphans()`` returned.
    package func free(_ indices: [Devices.UserIndex]) throws(TokenKeepError) {
        do throws(DeviceFault) {
            try devices.destroy(indices)
        } catch {
            throw VaultRemoval.error(error)
        }
    }

    private static func error(_ fault: DeviceFault) -> TokenKeepError {
        TokenKeepError(.unavailable, fault.reason, module: "vault", hint: fault.remedy)
    }
}

extension Store {
    /// The deletion of the vault.
    package var vaultRemoval: VaultRemoval { VaultRemoval(store: self) }
}
