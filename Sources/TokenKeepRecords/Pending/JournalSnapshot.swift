import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The state of the journal that a reader must know before it asks modules.
package struct JournalSnapshot: Sendable {
    /// See ``Records/generation()``.
    package let generation: UInt64
    /// Whether any record may have pending writes.
    package let mayHavePending: Bool
}

extension Records {
    /// The journal's state: ``generation()`` and ``mayHavePending()`` together, for one look at a directory if nothing was
    /// pending before and nothing has changed since.
    ///
    /// - Parameter name: the item that is asked for; an error names it.
    package func snapshot(for name: ItemName) throws(TokenKeepError) -> JournalSnapshot {
        do throws(TokenKeepError) {
            return try snapshot()
        } catch {
            throw error.of(name)
        }
    }

    package func snapshot() throws(TokenKeepError) -> JournalSnapshot {
        guard let vault = try open() else { return JournalSnapshot(generation: 0, mayHavePending: false) }
        if let quiet = quiet.withLock({ $0 }), quiet.place.isSame(vault.era), let generation = quiet.generation.value {
            return JournalSnapshot(generation: generation, mayHavePending: false)
        }
        // In this order: a write that becomes pending after the look was taken changes it.
        let place = QuietPlace(vault.era)
        let snapshot = JournalSnapshot(
            generation: try Generation.read(in: vault.directory),
            mayHavePending: try !PendingHints(vault.era).areNone())
        // A reader makes no files: if there is no generation yet, there is nothing to remember.
        guard snapshot.generation != 0, !snapshot.mayHavePending, let place, place.isSettled,
            let generation = HeldGeneration(vault.directory)
        else { return snapshot }
        quiet.withLock { $0 = QuietVault(place: place, generation: generation) }
        return snapshot
    }
}

/// A vault in which nothing was pending when its directory looked so.
struct QuietVault {
    let place: QuietPlace
    let generation: HeldGeneration
}

/// The look of the directory in which a change shows that something may be pending: `pending`, or the era's own if that is
/// missing.
struct QuietPlace {
    private let path: String
    private let identity: FileStatus.Identity

    /// nil if the directory cannot be looked at.
    init?(_ era: EraDirectory) {
        // The era's own first: a directory that is made in it afterwards changes it.
        guard let own = QuietPlace.look(era.path) else { return nil }
        let pending = QuietPlace.pending(era)
        if let identity = QuietPlace.look(pending) {
            (path, self.identity) = (pending, identity)
        } else {
            (path, identity) = (era.path, own)
        }
    }

    private static func pending(_ era: EraDirectory) -> String { "\(era.path)/\(PendingHints.folder)" }

    private static func look(_ path: String) -> FileStatus.Identity? {
        ((try? SystemCall.status(of: path, in: AT_FDCWD)) ?? nil)?.identity
    }

    /// Whether nothing has changed there, and the era is still this one.
    func isSame(_ era: EraDirectory) -> Bool {
        (path == QuietPlace.pending(era) || path == era.path) && QuietPlace.look(path) == identity
    }

    /// Whether another change would look different: the clock of files stands still for some milliseconds.
    var isSettled: Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return identity.changed < (Int64(now.tv_sec) - 1) * 1_000_000_000
    }
}
