import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The state of the vault at the beginning of a load: its generation, and whether changes may be pending.
package struct JournalSnapshot: Sendable {
    /// The random number in the last entry of the vault's log of changes. See ``VaultJournal/generation()``.
    package let generation: UInt64
    /// Whether any record may have pending writes.
    package let mayHavePending: Bool
}

extension VaultJournal {
    /// Checks whether changes may be pending in the vault, and reads the vault's ``generation()``.
    ///
    /// If nothing was pending at the last call, and a stat(2) of the directory shows no change since, the directory is
    /// not listed again.
    ///
    /// - Parameter name: the requested item, for error messages.
    package func snapshot(for name: ItemName) throws(TokenKeepError) -> JournalSnapshot {
        do throws(TokenKeepError) {
            return try snapshot()
        } catch {
            throw error.of(name)
        }
    }

    package func snapshot() throws(TokenKeepError) -> JournalSnapshot {
        if let quiet = records.quiet.withLock({ $0 }), quiet.place.isUnchanged, let generation = quiet.log.generation {
            return JournalSnapshot(generation: generation, mayHavePending: false)
        }
        // Close the log that the last call left open, because the kernel does not notify watchers of the removal of an
        // open log.
        records.quiet.withLock { $0 = nil }
        guard let vault = try records.open() else { return JournalSnapshot(generation: 0, mayHavePending: false) }
        // Read the directory's times before its entries, because a write that becomes pending later changes the times.
        let place = QuietPlace(vault.directory)
        let snapshot = JournalSnapshot(
            generation: try ChangeLog.generation(in: vault.directory),
            mayHavePending: try !PendingHints(vault.era).areNone())
        // Remember that nothing is pending only if there is a log of changes, because a later change would not be
        // noticed without a log, and a reader makes no log. Remember nothing if the vault's keys were replaced
        // meanwhile, because the times are then those of another directory.
        guard snapshot.generation != 0, !snapshot.mayHavePending, let place, place.isSettled,
            try vault.directory.currentEra() == vault.era.number, let log = HeldChangeLog(vault.directory)
        else { return snapshot }
        records.quiet.withLock { $0 = QuietVault(place: place, log: log) }
        return snapshot
    }
}

/// The observation that nothing was pending in a vault.
///
/// Valid while the change time of the directory `pending` stays the same and the log of changes is the same file.
struct QuietVault {
    let place: QuietPlace
    let log: HeldChangeLog
}

/// A directory whose change time shows whether a change of an item may have become pending.
///
/// The directory is `pending` in the vault's current `era-N`, or `era-N` itself if `pending` is missing. The path goes
/// through the link `current`, so another `era-N`, or another vault at the path, has another identity.
struct QuietPlace {
    private let path: String
    private let identity: FileStatus.Identity

    /// Reads the directory's identity and change time; nil if the directory cannot be read.
    init?(_ vault: VaultDirectory) {
        let era = "\(vault.path)/\(EraDirectory.link)/"
        // Read the identity of `era-N` before looking for `pending`, because making `pending` later changes the time of
        // `era-N`.
        guard let own = QuietPlace.look(era + ".") else { return nil }
        if let identity = QuietPlace.look(era + PendingHints.folder) {
            (path, self.identity) = (era + PendingHints.folder, identity)
        } else {
            (path, identity) = (era + ".", own)
        }
    }

    private static func look(_ path: String) -> FileStatus.Identity? {
        ((try? SystemCall.status(of: path, in: AT_FDCWD)) ?? nil)?.identity
    }

    /// Whether the directory still has the same identity and change time.
    var isUnchanged: Bool { QuietPlace.look(path) == identity }

    /// Whether every later change of the directory is certain to give it another change time.
    ///
    /// False in the first second after a change: the file system's clock advances only every few milliseconds, so two
    /// changes may get the same time.
    var isSettled: Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return identity.changed < (Int64(now.tv_sec) - 1) * 1_000_000_000
    }
}
