import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// A descriptor that becomes readable after any process changes a session (a signed-in account) of the vault.
///
/// Watches the vault's directory `sessions`: every change of a session changes the file `slots` there. Continues to
/// watch if the vault is removed and restored, or if another vault is moved to its path.
package final class SessionSignal: Sendable {
    private struct State {
        var path: WatchedPath
        /// Whether the path cannot be watched now, for example because the system allows no more watches.
        var isUnwatched = false
    }

    /// The descriptor to wait for with poll(2). Owned by this object.
    package let descriptor: Int32
    private let notifier: Int32
    private let recheck: RecheckTimer
    private let state: MutexGuarded<State>

    /// Begins to watch. If there is no vault, makes a vault.
    ///
    /// - Throws: ``Status/io`` if the system allows no more watches, and the errors of opening or making the vault.
    package init(_ records: Records, _ call: CallContext) throws(TokenKeepError) {
        let directory = try records.openOrMake(call).directory
        _ = try SessionLock.folder(of: directory)
        recheck = try RecheckTimer()
        notifier = tokenkeep_notifier_open()
        guard notifier >= 0 else { throw ChangeNotifier.failure(Errno(rawValue: errno)) }
        var path = WatchedPath("\(directory.path)/\(SessionFiles.folder)", .folder, notifier: notifier)
        do throws(Errno) {
            _ = try path.renew()
            descriptor = tokenkeep_either_open(notifier, recheck.descriptor)
            guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        } catch {
            close(notifier)
            throw ChangeNotifier.failure(error)
        }
        path.tidy(beside: [])
        state = MutexGuarded(State(path: path))
    }

    deinit {
        close(descriptor)
        close(notifier)
    }

    /// Discards the changes reported so far, so that the descriptor becomes readable at the next change.
    package func drain() {
        state.withLock { state in
            let mayBeReplaced = drain(state.path.last)
            let hasRung = recheck.hasRung(endless: state.isUnwatched)
            let wasUnwatched = state.isUnwatched
            guard mayBeReplaced || (hasRung && wasUnwatched) else { return }
            do throws(Errno) {
                let isNew = try state.path.renew()
                state.isUnwatched = false
                if isNew { recheck.begin() }
            } catch {
                state.isUnwatched = true
                if !wasUnwatched { recheck.begin() }
            }
            state.path.tidy(beside: [])
        }
    }

    /// Reads the kernel's events. Returns whether the path may now lead to another directory.
    private func drain(_ folder: Int32?) -> Bool {
        var notices = [tokenkeep_notice](repeating: tokenkeep_notice(), count: Int(TOKENKEEP_NOTICES))
        var mayBeReplaced = false
        while true {
            let count = tokenkeep_notifier_read(notifier, &notices, notices.count)
            guard count > 0 else { return mayBeReplaced }
            mayBeReplaced =
                mayBeReplaced
                || notices[..<count].contains { $0.watch != folder || $0.kind != TOKENKEEP_NOTICE_WRITTEN }
        }
    }
}
