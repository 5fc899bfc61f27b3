import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// A descriptor that becomes readable after any process changes a session (a signed-in account) of the vault.
///
/// Watches the files of the vault's directory `sessions`, among them `slots`, which every change of a session changes.
package final class SessionSignal: Sendable {
    /// The descriptor to wait for with poll(2). Owned by this object.
    package let descriptor: Int32

    /// - Throws: ``Status/io`` if the system allows no more watches.
    package init(_ records: Records, _ call: CallContext) throws(TokenKeepError) {
        let directory = try records.openOrMake(call).directory
        _ = try SessionLock.folder(of: directory)
        descriptor = tokenkeep_notifier_open()
        let path = "\(directory.path)/\(SessionFiles.folder)"
        guard descriptor >= 0, tokenkeep_notifier_add(descriptor, path, TOKENKEEP_WATCH_CONTENT) >= 0 else {
            let error = Errno(rawValue: errno)
            if descriptor >= 0 { close(descriptor) }
            throw ChangeNotifier.failure(error)
        }
    }

    deinit { close(descriptor) }

    /// Discards the changes reported so far, so that the descriptor becomes readable at the next change.
    package func drain() {
        var notices = [tokenkeep_notice](repeating: tokenkeep_notice(), count: Int(TOKENKEEP_NOTICES))
        while tokenkeep_notifier_read(descriptor, &notices, notices.count) > 0 {}
    }
}
