package import TokenKeepCore

/// Keeps secrets that the vault cannot store at the moment.
///
/// The secrets stay readable while the vault is locked, and are lost when the machine restarts.
extension ClassKeyStore {
    /// Keeps a secret in the kernel's keyring, or in this object if the kernel refuses the secret.
    ///
    /// An earlier secret under the same description is replaced.
    ///
    /// - Parameter place: the description (name) of the key in the kernel's keyring that keeps the secret.
    /// - Returns: whether every process of the user can read the secret.
    package func stash(_ secret: SecretBytes, as place: String) -> Bool {
        let isShared = usesKernel && KernelKeyring.publish(secret, as: place, endsAfter: nil) == nil
        stashes.withLock { $0[place] = isShared ? nil : secret }
        return isShared || isSimulated
    }

    /// The secret that ``stash(_:as:)`` kept under the description `place`; nil if there is none.
    package func stashed(at place: String) throws(TokenKeepError) -> SecretBytes? {
        if let secret = stashes.withLock({ $0[place] }) { return secret }
        guard usesKernel, let length = KernelKeyring.length(of: place), length > 0 else { return nil }
        return try KernelKeyring.read(place, atMost: length)
    }

    /// Removes the secret that ``stash(_:as:)`` kept under the description `place`.
    package func dropStash(at place: String) {
        stashes.withLock { $0[place] = nil }
        if usesKernel { KernelKeyring.remove(place) }
    }

    /// Removes the servers' answers to sessions that are kept until the vault is unlocked. A failure is ignored.
    func dropStashes(of vaultID: [UInt8]) {
        let prefix = ClassKeyPlace.stashes(vaultID)
        stashes.withLock { stashes in stashes = stashes.filter { !$0.key.hasPrefix(prefix) } }
        if usesKernel { _ = KernelKeyring.purge(prefix) }
    }
}
