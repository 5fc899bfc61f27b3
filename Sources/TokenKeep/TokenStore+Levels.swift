import TokenKeepEngine

extension TokenStore {
    /// Unlocks the vault with its password, for every process of the user; where the kernel's keyring cannot be used, for
    /// this store alone. The items of ``AccessLevel/whenUnlocked`` are locked again 180 seconds later.
    ///
    /// - Throws: ``Status/denied`` for a wrong password, ``Status/unsupported`` where the vault has none.
    public func unlock(password: SecretBytes) async throws(TokenKeepError) {
        try await run { engine, deadline throws(TokenKeepError) in _ = try engine.unlock(password, until: deadline) }
    }

    /// Locks the vault for every process of the user.
    ///
    /// Where the kernel's keyring cannot be reached, it is locked for this program alone.
    ///
    /// - Throws: ``Status/io`` where a key is left, ``Status/unsupported`` where it has no password: there is nothing to
    ///   lock.
    public func lock() async throws(TokenKeepError) {
        try await run { engine, _ throws(TokenKeepError) in _ = try engine.lock() }
    }

    /// What is really achieved for items of a level with these flags, in this stack and on this machine, as it is now.
    ///
    /// - Throws: ``Status/unsupported`` for a level that cannot be had.
    public func protection(for level: AccessLevel, flags: ItemFlags = []) async throws(TokenKeepError) -> Protection {
        try await run { engine, _ throws(TokenKeepError) in try engine.protection(of: level, flags) }
    }
}
