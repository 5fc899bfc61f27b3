import CSystemShims
import Glibc
package import TokenKeepCore
import TokenKeepKeys

/// Keeps a process from removing the outbox's mark while another process adds a token, in the vault's file
/// `sessions/lock`.
///
/// Processes that add tokens each lock one byte of a range, and so do not wait for each other. A process that removes
/// the mark locks the whole range.
package enum OutboxLock {
    /// Above the bytes of sessions' locks.
    private static let first: off_t = 1 << 62
    private static let count: off_t = 1 << 16

    /// Acquires a lock for adding a token; nil if another process is removing the mark until the deadline.
    ///
    /// - Throws: the errors of ``SessionLock/acquire(_:of:_:_:)``.
    package static func acquireForAdding(
        _ records: Records, _ call: CallContext
    ) throws(TokenKeepError) -> SessionLock? {
        let folder = try SessionLock.folder(of: records.openOrMakeForSessions(call).directory)
        let byte = first + .random(in: 0..<count)
        return try SessionLock.acquire(bytesFrom: byte, count: 1, in: folder, call)
    }

    /// Acquires the lock for removing the mark, without waiting; nil if another process adds a token or removes the
    /// mark.
    package static func tryForRemoving(_ records: Records) throws(TokenKeepError) -> SessionLock? {
        guard let vault = try records.open() else { return nil }
        let call = CallContext(deadline: Deadline(milliseconds: 0))
        return try SessionLock.acquire(
            bytesFrom: first, count: count, in: SessionLock.folder(of: vault.directory), call)
    }
}
