import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The state of the journal that a reader needs before it asks modules.
package struct JournalSnapshot: Sendable {
    /// See ``Records/generation()``.
    package let generation: UInt64
    /// Whether any record may have pending writes.
    package let mayHavePending: Bool
}

extension Records {
    /// Reads ``generation()`` and ``mayHavePending()`` together.
    ///
    /// If nothing was pending and nothing has changed since the last call, a single status of a directory answers both.
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
        if let quiet = quiet.withLock({ $0 }), quiet.place.isUnchanged, let generation = quiet.log.generation {
            return JournalSnapshot(generation: generation, mayHavePending: false)
        }
        // An open log that lost its name would keep watchers from the notice of its removal.
        quiet.withLock { $0 = nil }
        guard let vault = try open() else { return JournalSnapshot(generation: 0, mayHavePending: false) }
        // In this order: a write that becomes pending after this status was taken changes the status.
        let place = QuietPlace(vault.directory)
        let snapshot = JournalSnapshot(
            generation: try ChangeLog.generation(in: vault.directory),
            mayHavePending: try !PendingHints(vault.era).areNone())
        // A reader makes no files: without a generation there is nothing to remember. If another era came into force
        // meanwhile, the status is not that of the directory that was read.
        guard snapshot.generation != 0, !snapshot.mayHavePending, let place, place.isSettled,
            try vault.directory.currentEra() == vault.era.number, let log = HeldChangeLog(vault.directory)
        else { return snapshot }
        quiet.withLock { $0 = QuietVault(place: place, log: log) }
        return snapshot
    }
}

/// A vault in which nothing was pending while its directory had this status.
struct QuietVault {
    let place: QuietPlace
    let log: HeldChangeLog
}

/// The status of the directory that changes when a write becomes pending: `pending` of the era in force. If `pending`
/// is missing, it is the era's own directory.
///
/// The path leads through `current`, so that another era and another vault at the path have another status.
struct QuietPlace {
    private let path: String
    private let identity: FileStatus.Identity

    /// nil if the directory's status cannot be read.
    init?(_ vault: VaultDirectory) {
        let era = "\(vault.path)/\(EraDirectory.link)/"
        // The era's own directory first: making `pending` in it afterwards changes its status.
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

    /// Whether the directory's status is unchanged.
    var isUnchanged: Bool { QuietPlace.look(path) == identity }

    /// Whether any further change would change the status. The clock of the file system advances only every few
    /// milliseconds.
    var isSettled: Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return identity.changed < (Int64(now.tv_sec) - 1) * 1_000_000_000
    }
}
