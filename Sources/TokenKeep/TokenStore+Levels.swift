import TokenKeepEngine

extension TokenStore {
    /// Unlocks the vault with its password, for every process of the user.
    ///
    /// If the kernel's keyring cannot be used, the vault is unlocked only for this store. Items of the level
    /// ``TokenItem/Accessibility/whenUnlocked`` are locked again with the screen if `tokenkeep-agent` runs, otherwise
    /// after 180 seconds.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/denied`` if the password is wrong,
    ///   ``TokenKeepError/Status/unsupported`` if the vault has no password, or ``TokenKeepError/Status/corrupt`` if
    ///   the vault's header was changed without the password or is older than the version that the machine's TPM
    ///   recorded. `CancellationError` if the task is cancelled.
    public func unlock(password: Secret) async throws {
        try await run { engine, deadline throws(CoreError) in _ = try engine.unlock(password.core, until: deadline) }
    }

    /// Locks the vault for every process of the user.
    ///
    /// If the kernel's keyring cannot be used, the vault is locked only for this program.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/io`` if a key remains in the kernel or
    ///   ``TokenKeepError/Status/unsupported`` if the vault has no password. `CancellationError` if the task is
    ///   cancelled.
    public func lock() async throws {
        try await run { engine, _ throws(CoreError) in _ = try engine.lock() }
    }

    /// Returns the protection that this stack and machine achieve at present for items with a level and flags.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/unsupported`` if the level needs a device and the
    ///   vault is bound to no device, or if no module of the stack saves items; ``TokenKeepError/Status/policy`` if the
    ///   level needs a password and the vault has none. `CancellationError` if the task is cancelled.
    public func protection(
        for accessibility: TokenItem.Accessibility, flags: TokenItem.Flags = []
    ) async throws -> Protection {
        try await run { engine, _ throws(CoreError) in
            Protection(core: try engine.protection(of: accessibility.core, flags.core))
        }
    }
}
