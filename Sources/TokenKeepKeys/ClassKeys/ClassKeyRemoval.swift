package import TokenKeepCore

/// Removes the open keys of vaults from the kernel's keyring, the agent and this process's memory.
package struct ClassKeyRemoval {
    let keys: ClassKeyStore

    /// Purges a vault's keys that are removed at a screen lock, or all of its keys if `isAll`.
    ///
    /// The headers that an unlock verified stay, so that a header forged while the vault is locked is refused.
    ///
    /// - Returns: the reason why the kernel may still have keys that other programs put there; nil if no key is left.
    /// - Throws: ``Status/io`` if a key that this process can see could not be purged.
    package func purge(all isAll: Bool, of vaultID: [UInt8]) throws(TokenKeepError) -> String? {
        guard isAll else {
            // The keys are revoked before the request to the agent, because the agent may be stopped.
            defer { if keys.usesKernel { keys.agent.lock() } }
            return try purgeScreenKeys(of: vaultID)
        }
        // Keep the verified headers during the purge: without them, another process would accept any header.
        return try keys.purge(prefix: ClassKeyPlace.prefix(vaultID), keeping: ClassKeyPlace.trust(vaultID)) {
            keys.agent.drop(vaultID)
        }
    }

    /// Purges the keys of all of the user's vaults from the kernel, but not the verified headers. Touches no file.
    package func purgeAllVaults() throws(TokenKeepError) {
        for vaultID in vaultsInKernel() { _ = try purge(all: true, of: vaultID) }
    }

    /// Purges the keys that are removed at a screen lock, of every vault of the user, and notifies the agent.
    ///
    /// Touches no file, because a file system may hang.
    package func purgeScreenKeys() throws(TokenKeepError) {
        defer { keys.agent.lock() }
        for vaultID in vaultsInKernel() { _ = try purgeScreenKeys(of: vaultID) }
    }

    private func purgeScreenKeys(of vaultID: [UInt8]) throws(TokenKeepError) -> String? {
        var reason: String?
        for purpose in KeyPurpose.ofScreen {
            reason = try keys.purge(prefix: ClassKeyPlace.prefix(vaultID, purpose)) {} ?? reason
        }
        return reason
    }

    /// The ids of the user's vaults that have keys in the kernel.
    private func vaultsInKernel() -> Set<[UInt8]> {
        guard keys.usesKernel else { return [] }
        let places = KernelKeyring.descriptions(beginningWith: ClassKeyPlace.beginning)
        return Set(places.filter(ClassKeyPlace.isOfKey).compactMap(ClassKeyPlace.vaultID))
    }

    /// Purges all keys of a vault and its verified headers. A failure is ignored.
    package func forget(_ vaultID: [UInt8]) {
        keys.dropLockMark(of: vaultID)
        _ = try? keys.purge(prefix: ClassKeyPlace.prefix(vaultID)) { keys.agent.drop(vaultID) }
    }

    /// Purges all keys of a deleted vault, its verified headers and its stashed session answers.
    ///
    /// - Returns: the reason why a key may still be in the kernel; nil if no key is left.
    func purgeDeleted(_ vaultID: [UInt8]) -> String? {
        keys.dropLockMark(of: vaultID)
        keys.dropStashes(of: vaultID)
        do throws(TokenKeepError) {
            return try keys.purge(prefix: ClassKeyPlace.prefix(vaultID)) { keys.agent.drop(vaultID) }
        } catch {
            return error.message
        }
    }

    /// Purges from the kernel the keys of each vault that is no longer at the path where it was unlocked.
    ///
    /// The verified headers stay, because the vault may reappear with an older header. A vault that was unlocked in
    /// another mount namespace, for example in a container, is skipped.
    package func dropKeysOfLostVaults() {
        for vaultID in vaultsInKernel() {
            guard let trust = (try? keys.trust(of: vaultID)) ?? nil, trust.isLost(vaultID) else { continue }
            _ = try? purge(all: true, of: vaultID)
        }
    }
}
