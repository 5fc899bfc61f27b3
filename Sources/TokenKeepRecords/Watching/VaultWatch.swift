import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The changes that one report of a vault's watch contains.
public struct ChangeNotice: Sendable {
    /// Whether an item in the vault or in a module may have changed since the last report.
    public var hasChanged = false
    /// Whether a process that uses TokenKeep signalled a change, or the vault was moved.
    ///
    /// False if a module alone reported the change.
    public var isSignalled = false
    /// Whether reports of changes were lost, so that any item may have changed.
    public var hasLost = false
    /// Whether the vault's path now leads to another directory or log, into which files may still be being copied.
    var isReplaced = false
    /// Whether the path cannot currently be watched.
    var isUnwatched = false
    /// The file names (16 bytes each) of the records that may have changed; nil if any item may have changed.
    package var records: [[UInt8]]? = []
}

/// Reports that items in a vault may have changed, whichever process changed them.
///
/// The vault need not exist yet, and may be removed and restored. Any thread may use a watch. A child of `fork()` must
/// not use a watch, but may release it.
public final class VaultWatch: Sendable {
    /// A descriptor that is readable (poll(2)) while ``take()`` may return a change.
    ///
    /// Owned by this object. Closed when the process executes another program.
    public let descriptor: Int32
    private let flag: Int32
    private let notifier: ChangeNotifier
    private let number: Int
    private let log: MutexGuarded<ChangeLogReader>
    private let recheck: RecheckTimer

    /// Begins to watch. Changes made after this call are reported.
    ///
    /// - Throws: ``Status/io`` if the system's limits on watches are reached.
    package init(_ records: Records) throws(TokenKeepError) {
        let path = try records.opener.path()
        let notifier = try ChangeNotifier.shared()
        let recheck = try RecheckTimer()
        let flag = tokenkeep_flag_open()
        guard flag >= 0 else { throw ChangeNotifier.failure(Errno(rawValue: errno)) }
        let descriptor = tokenkeep_either_open(notifier.descriptor, flag)
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            close(flag)
            throw ChangeNotifier.failure(error)
        }
        do throws(TokenKeepError) {
            guard tokenkeep_either_add(descriptor, recheck.descriptor) == 0 else {
                throw ChangeNotifier.failure(Errno(rawValue: errno))
            }
            number = try notifier.add(vault: path, flag: flag)
        } catch {
            close(descriptor)
            close(flag)
            throw error
        }
        // Read the log from its current end on. No change is missed, because the watch has already begun and the caller
        // has not read the store yet.
        log = MutexGuarded(ChangeLogReader(vault: path))
        self.notifier = notifier
        self.recheck = recheck
        self.flag = flag
        self.descriptor = descriptor
    }

    deinit {
        // A child of `fork()` must not call its parent's notifier, because a thread of the parent may have held the
        // notifier's lock at the fork.
        if notifier.owner == getpid() { notifier.remove(number) }
        close(descriptor)
        close(flag)
    }

    /// Returns the changes since the last call. Does not wait for a change.
    public func take() -> ChangeNotice {
        var notice = notifier.take(number)
        if notice.isReplaced {
            recheck.begin()
        } else if recheck.hasRung(endless: notice.isUnwatched) {
            notice.hasChanged = true
            notice.records = nil
        }
        guard notice.hasChanged else { return notice }
        let changed = log.withLock { log in
            let changed = log.changedRecords { notifier.renew(number) }
            if log.hasAnotherLog { recheck.begin() }
            return changed
        }
        if notice.records != nil { notice.records = changed }
        return notice
    }

    /// Tells the watch that the program found changes that the vault's log does not contain.
    ///
    /// If another vault appeared at the path, its files may still be being copied, so the descriptor becomes readable
    /// again at growing intervals.
    public func noteUnloggedChanges() { recheck.beginAgain() }

    /// Reports a change that another source noticed, for example a module.
    public func note() { notifier.note(number) }

    /// Keeps the descriptor readable at all times if `isReadable`; otherwise only while changes are undelivered.
    public func keepReadable(_ isReadable: Bool) { notifier.setFlag(isReadable, of: number) }
}
