package import TokenKeepCore

/// Secrets that wait for their place to open: a lock of the vault leaves them, a restart of the machine does not.
extension ClassKeyStore {
    /// Keeps a secret in the kernel's keyring in place of an earlier one, or in this object if the kernel refuses it.
    ///
    /// - Returns: whether every process of the user can read the secret.
    package func stash(_ secret: SecretBytes, as place: String) -> Bool {
        let isShared = usesKernel && KernelKeyring.publish(secret, as: place, endsAfter: nil) == nil
        stashes.withLock { $0[place] = isShared ? nil : secret }
        return isShared || isSimulated
    }

    /// The secret at a place; nil if there is none.
    package func stashed(at place: String) throws(TokenKeepError) -> SecretBytes? {
        if let secret = stashes.withLock({ $0[place] }) { return secret }
        guard usesKernel, let length = KernelKeyring.length(of: place), length > 0 else { return nil }
        return try KernelKeyring.read(place, atMost: length)
    }

    /// Removes the secret at a place.
    package func dropStash(at place: String) {
        stashes.withLock { $0[place] = nil }
        if usesKernel, KernelKeyring.length(of: place) != nil { _ = KernelKeyring.purge(place) }
    }
}
