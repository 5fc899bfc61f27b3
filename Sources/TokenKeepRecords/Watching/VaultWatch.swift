import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// A notice for an observer of a vault.
public struct ChangeNotice: Sendable {
    /// Whether an item of the vault or of a module may have changed since the last look.
    public var hasChanged = false
    /// Whether a process of TokenKeep signalled the change, or the vault itself was moved. False if only another source
    /// did.
    public var isSignalled = false
    /// Whether notices were lost, so that the changed items are unknown.
    public var hasLost = false
    /// The file names of the records that may have changed, as bytes; nil if anything may have changed.
    package var records: [[UInt8]]? = []
}

/// Notifies of possible changes of items in a vault, or in modules with pending writes, by any process.
///
/// The vault need not exist yet, and may be removed and restored meanwhile. Safe from any thread. Do not use it in a
/// child of `fork()`; releasing it there is safe.
public final class VaultWatch: Sendable {
    /// Readable (poll(2)) while ``take()`` may return a notice. Owned by this object; closed on exec.
    public let descriptor: Int32
    private let flag: Int32
    private let notifier: ChangeNotifier
    private let number: Int
    private let log: MutexGuarded<ChangeLogReader>

    /// Begins to watch. Later changes are reported.
    ///
    /// - Throws: ``Status/io`` if the system's limits on watches are reached.
    package init(_ records: Records) throws(TokenKeepError) {
        let path = try records.opener.path()
        let notifier = try ChangeNotifier.shared()
        let flag = tokenkeep_flag_open()
        guard flag >= 0 else { throw ChangeNotifier.failure(Errno(rawValue: errno)) }
        let descriptor = tokenkeep_either_open(notifier.descriptor, flag)
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            close(flag)
            throw ChangeNotifier.failure(error)
        }
        do throws(TokenKeepError) {
            number = try notifier.add(vault: path, flag: flag)
        } catch {
            close(descriptor)
            close(flag)
            throw error
        }
        // After the watch began and before the first reading of the store: no change is missed.
        log = MutexGuarded(ChangeLogReader(vault: path))
        self.notifier = notifier
        self.flag = flag
        self.descriptor = descriptor
    }

    deinit {
        // In a child the notifier is the parent's, and another thread may have held its lock.
        if notifier.owner == getpid() { notifier.remove(number) }
        close(descriptor)
        close(flag)
    }

    /// The changes since the last call. Does not wait.
    public func take() -> ChangeNotice {
        var notice = notifier.take(number)
        guard notice.hasChanged else { return notice }
        let changed = log.withLock { $0.changedRecords { notifier.renew(number) } }
        if notice.records != nil { notice.records = changed }
        return notice
    }

    /// Notes a change that another source reported.
    public func note() { notifier.note(number) }

    /// Keeps the descriptor readable, or makes it depend on the notices again.
    public func keepReadable(_ isReadable: Bool) { notifier.setFlag(isReadable, of: number) }
}
