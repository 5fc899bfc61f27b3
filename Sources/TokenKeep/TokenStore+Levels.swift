import TokenKeepEngine

extension TokenStore {
    /// Unlocks the vault with its password, for every process of the user.
    ///
    /// If the kernel's keyring cannot be used, the vault is unlocked for this store alone. The items of
    /// ``AccessLevel/whenUnlocked`` are locked again 180 seconds later.
    ///
    /// - Throws: ``Status/denied`` for a wrong password, ``Status/unsupported`` if the vault has no password.
    public func unlock(password: SecretBytes) async throws(TokenKeepError) {
        try await run { engine, deadline throws(TokenKeepError) in _ = try engine.unlock(password, until: deadline) }
    }

    /// Locks the vault for every process of the user.
    ///
    /// If the kernel's keyring cannot be reached, the vault is locked for this program alone.
    ///
    /// - Throws: ``Status/io`` if a key remains in the kernel, ``Status/unsupported`` if the vault has no password.
    public func lock() async throws(TokenKeepError) {
        try await run { engine, _ throws(TokenKeepError) in _ = try engine.lock() }
    }

    /// The present protection of items of a level with these flags, in this stack and on this machine.
    ///
    /// - Throws: ``Status/unsupported`` if an item of the level cannot be saved here.
    public func protection(for level: AccessLevel, flags: ItemFlags = []) async throws(TokenKeepError) -> Protection {
        try await run { engine, _ throws(TokenKeepError) in try engine.protection(of: level, flags) }
    }
}
