import Glibc
import SystemPackage
public import TokenKeepCore

extension Vault {
    /// What a reader must know before it asks modules.
    public struct Outlook: Sendable {
        /// See ``Vault/generation()``.
        public let generation: UInt64
        /// Whether any record may owe something.
        public let mayOwe: Bool
    }

    /// What a reader must know before it asks modules: as ``generation()`` and ``mayOwe()`` together, at the price of one
    /// look at a directory where nothing was owed before and nothing has changed since.
    public func outlook() throws(TokenKeepError) -> Outlook {
        if let quiet = quiet.withLock({ $0 }), quiet.place.isSame,
            let generation = quiet.generation.value
        {
            return Outlook(generation: generation, mayOwe: false)
        }
        // In this order: what is owed after the look was taken changes it.
        let place = QuietPlace(try path())
        let outlook = Outlook(generation: try generation(), mayOwe: try mayOwe())
        // A reader makes no files: where there is no generation yet, there is nothing to remember.
        guard outlook.generation != 0, !outlook.mayOwe, let place, place.isSettled,
            let directory = try VaultDirectory.open(try path()), let generation = HeldGeneration(directory)
        else { return outlook }
        quiet.withLock { $0 = QuietVault(place: place, generation: generation) }
        return outlook
    }
}

/// A vault that owed nothing when it looked so.
struct QuietVault {
    let place: QuietPlace
    let generation: HeldGeneration
}

/// How the directory looks in which a change shows that something may be owed: `owed`, or the vault's own where that is not
/// there. Where the vault has become another one, so has this.
struct QuietPlace {
    private let path: String
    private let identity: FileStatus.Identity

    /// nil where there is no vault, or none that can be looked at.
    init?(_ vault: String) {
        let owed = vault + "/" + OwedHints.folder
        // The vault's own first: what is made in it afterwards changes it.
        guard let own = QuietPlace.look(vault) else { return nil }
        if let identity = QuietPlace.look(owed) {
            (path, self.identity) = (owed, identity)
        } else {
            (path, identity) = (vault, own)
        }
    }

    private static func look(_ path: String) -> FileStatus.Identity? {
        (try? SystemCall.status(of: path, in: AT_FDCWD))?.identity
    }

    /// Whether nothing has changed there.
    var isSame: Bool { QuietPlace.look(path) == identity }

    /// Whether another change would look different: the clock of files stands still for some milliseconds.
    var isSettled: Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return identity.changed < (Int64(now.tv_sec) - 1) * 1_000_000_000
    }
}
