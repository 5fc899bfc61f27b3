import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// What an observer of a vault is told.
public struct ChangeNotice: Sendable {
    /// Whether something may have changed.
    public var hasChanged = false
    /// Whether a process of TokenKeep told of it, or the vault itself was moved; not something else alone.
    public var isSignalled = false
    /// Whether notices were lost: what changed cannot be told.
    public var hasLost = false
}

/// Tells that items of a vault, or of the modules that have pending writes, may have changed, whichever process changed them.
///
/// The vault need not be there yet, and may be removed and restored meanwhile. Safe from any thread. In a child made by
/// `fork()` it must not be used; it may be let go there.
public final class VaultWatch: Sendable {
    /// Readable (poll(2)) while there may be something to take. It belongs to this object, and is closed on exec.
    public let descriptor: Int32
    private let flag: Int32
    private let notifier: ChangeNotifier
    private let number: Int

    /// Begins to watch: what changes from now on is told.
    ///
    /// - Throws: ``Status/io`` where the system's limits on watches are reached.
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

    /// What happened since it was last asked. Does not wait.
    public func take() -> ChangeNotice { notifier.take(number) }

    /// Notes that something else told of a change.
    public func note() { notifier.note(number) }

    /// Keeps the descriptor readable, or lets it be what the notices make it.
    public func keepReadable(_ isReadable: Bool) { notifier.setFlag(isReadable, of: number) }
}
