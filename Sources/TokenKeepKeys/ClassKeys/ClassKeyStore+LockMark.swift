import TokenKeepCore

/// A mark that the user locked a vault. The next unlock or the machine's restart removes the mark.
///
/// A password that the user types for another purpose, for example for sudo, must not unlock such a vault.
extension ClassKeyStore {
    /// Sets the mark. A failure is ignored: the next login, through any service, then unlocks the vault.
    package func noteLock(of vaultID: [UInt8]) {
        guard let mark = try? SecretBytes(count: 1, initialize: { _ in }) else { return }
        _ = stash(mark, as: ClassKeyPlace.lockMark(vaultID))
    }

    /// Whether the user locked the vault and no unlock has followed.
    package func isLockedByUser(_ vaultID: [UInt8]) -> Bool {
        ((try? stashed(at: ClassKeyPlace.lockMark(vaultID))) ?? nil) != nil
    }

    /// Removes the mark, as an unlock does. A failure is ignored.
    package func dropLockMark(of vaultID: [UInt8]) { dropStash(at: ClassKeyPlace.lockMark(vaultID)) }
}
