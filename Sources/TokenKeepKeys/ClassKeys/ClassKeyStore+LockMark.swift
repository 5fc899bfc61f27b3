import TokenKeepCore

/// The mark that the user locked a vault, which ends with the next unlock or the machine's restart.
///
/// A password that the user types for something else, for example for sudo, must not open what the user locked.
extension ClassKeyStore {
    /// Notes that the user locked the vault. A failure is ignored: the next login then opens the vault, whatever its service.
    package func noteLock(of vaultID: [UInt8]) {
        guard let mark = try? SecretBytes(count: 1, initialize: { _ in }) else { return }
        _ = stash(mark, as: ClassKeyPlace.lockMark(vaultID))
    }

    /// Whether the user locked the vault, and nobody has unlocked it since.
    package func isLockedByUser(_ vaultID: [UInt8]) -> Bool {
        ((try? stashed(at: ClassKeyPlace.lockMark(vaultID))) ?? nil) != nil
    }

    /// Ends the mark, as an unlock does. A failure is ignored.
    package func dropLockMark(of vaultID: [UInt8]) { dropStash(at: ClassKeyPlace.lockMark(vaultID)) }
}
