import Glibc
import SystemPackage
public import TokenKeepCore

/// The encrypted directory of records. Made on the first write; until then every item is absent from it.
///
/// Safe from any thread. Readers take no lock: a record is replaced by one rename, so they see the old or the new one.
/// Every call opens the directory anew, so that a vault that was restored, moved or removed meanwhile is seen as it is.
public final class Vault: Sendable {
    let arena: SecretArena
    let cache: KeyCache
    /// The keys of the vault while it is unlocked.
    let resident: ResidentKeys
    private let knownPath: Guarded<String?>
    /// Which items' locks threads of this process hold.
    let held = Guarded(HeldItems())
    /// Reaches what the vault sealed for other modules; nil while nothing does.
    let sealedPlaces = Guarded<SealedPlacesProvider>({ nil })
    /// The vault as it was when it last owed nothing.
    let quiet = Guarded<QuietVault?>(nil)

    /// The user's vault. Touches nothing yet.
    public convenience init(arena: SecretArena) { self.init(arena: arena, path: nil) }

    /// The vault in `path`, which tests choose; nil for the user's.
    ///
    /// - Parameters:
    ///   - keyringObstacle: why the kernel's keyring must not be used; nil to try it.
    ///   - clock: the time of keys that are not in the kernel, in seconds; nil for that since the machine's start.
    package init(
        arena: SecretArena, path: String?, keyringObstacle: String? = nil, clock: (@Sendable () -> Int64)? = nil
    ) {
        self.arena = arena
        resident = ResidentKeys(arena: arena, obstacle: keyringObstacle, clock: clock)
        cache = KeyCache(arena: arena, resident: resident)
        knownPath = Guarded(path)
    }

    /// Where the vault is, or would be.
    ///
    /// - Throws: ``Status/invalid`` for a relative `TOKENKEEP_VAULT`, ``Status/io`` where the user has no home.
    public func path() throws(TokenKeepError) -> String {
        if let known = knownPath.withLock({ $0 }) { return known }
        let path = try VaultLocation.path()
        knownPath.withLock { $0 = path }
        return path
    }

    /// A vault that is there, with its keys open as far as they are.
    struct Opened {
        let directory: VaultDirectory
        let keys: KeyHierarchy
    }

    /// The vault, or nil where none was made yet.
    ///
    /// - Throws: ``Status/denied``, ``Status/corrupt``, ``Status/unsupported`` or ``Status/io`` where there is one that
    ///   cannot be used.
    func open() throws(TokenKeepError) -> Opened? {
        guard let directory = try VaultDirectory.open(try path()) else { return nil }
        if let keys = try cache.keys(of: directory) { return Opened(directory: directory, keys: keys) }
        guard try VaultMaking.hasRecords(directory) else { return nil }
        // Headers come before records: either another process made the vault meanwhile, or they are lost.
        guard let keys = try cache.keys(of: directory) else { throw VaultMaking.headersLost(directory) }
        return Opened(directory: directory, keys: keys)
    }

    /// The vault, made if there is none.
    func openOrMake(_ call: CallContext) throws(TokenKeepError) -> Opened {
        if let opened = try open(), try VaultMaking.isComplete(opened.directory) { return opened }
        let directory = try VaultDirectory.make(try path())
        try VaultMaking.make(in: directory, cache: cache, arena: arena, call)
        guard let keys = try cache.keys(of: directory) else {
            throw TokenKeepError(.io, "the vault in \(directory.path) vanished while it was made", module: "vault")
        }
        return Opened(directory: directory, keys: keys)
    }

    /// A keyed fingerprint of a value, as debts hold them; nil where there is no vault that can be read.
    public func fingerprint(of secret: SecretBytes) -> [UInt8]? { (try? open())?.keys.journal.fingerprint(of: secret) }

    /// The key of item versions; nil where there is no vault that can be read.
    public func versionKey() -> ItemVersionKey? { (try? open())?.keys.journal.versions }
}
