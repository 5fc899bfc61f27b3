import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// A lock on one session (a signed-in account), in the vault's file `sessions/lock`.
///
/// The kernel releases the lock when the process ends.
package struct SessionLock: ~Copyable {
    /// The action on a session that a lock protects.
    package enum Purpose {
        /// Requesting new tokens from the server. The lock is held until the server has answered.
        case refresh
        /// Changing the session's item and state file in the vault. The lock is held only while they are written.
        case change
    }

    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    /// Waits for the lock until the deadline; nil if another process or thread then still holds the lock.
    ///
    /// - Throws: ``Status/cancelled`` if the call is cancelled; otherwise the errors of opening and locking the lock
    ///   file.
    package static func acquire(
        _ purpose: Purpose, of name: ItemName, _ records: Records, _ call: CallContext
    ) throws(TokenKeepError) -> SessionLock? {
        let vault = try records.openOrMakeForSessions(call)
        let folder = try folder(of: vault.directory)
        let id = vault.keys.journal.id(of: name)
        let bits = id.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & (1 << 61 - 1)
        let offset = off_t(bits) + (purpose == .change ? 1 << 61 : 0)
        return try acquire(bytesFrom: offset, count: 1, in: folder, call)
    }

    /// Waits until the deadline for a lock on a range of the lock file's bytes; nil if another process or thread still
    /// holds a lock on one of the bytes.
    static func acquire(
        bytesFrom offset: off_t, count: off_t, in folder: OwnedDescriptor, _ call: CallContext
    ) throws(TokenKeepError) -> SessionLock? {
        var descriptor: Int32 = -1
        let milliseconds = call.deadline.remainingMilliseconds
        let error = call.deadline.lendingCancellation { isCancelled, data in
            tokenkeep_lock_acquire(
                folder.number, "lock", offset, count, TOKENKEEP_NO_GATE, milliseconds, isCancelled, data, &descriptor)
        }
        if error == EBUSY {
            try call.deadline.checkCancellation()
            return nil
        }
        guard error == 0 else { throw Errno(rawValue: error).error("cannot lock \(SessionFiles.folder)/lock") }
        return SessionLock(descriptor: descriptor)
    }

    deinit { tokenkeep_lock_release(descriptor) }

    /// Opens the vault's directory `sessions`, or creates the directory if it is missing.
    static func folder(of directory: VaultDirectory) throws(TokenKeepError) -> OwnedDescriptor {
        let number = directory.descriptor.number
        do throws(Errno) {
            let flags = O_RDONLY | O_DIRECTORY
            if let folder = try SystemCall.open(SessionFiles.folder, in: number, flags) { return folder }
            if try SystemCall.makeDirectory(SessionFiles.folder, in: number) {
                try SystemCall.sync(directory.descriptor)
            }
            if let folder = try SystemCall.open(SessionFiles.folder, in: number, flags) { return folder }
        } catch {
            throw error.error("cannot open \(directory.path)/\(SessionFiles.folder)")
        }
        throw Errno.noSuchFileOrDirectory.error("cannot open \(directory.path)/\(SessionFiles.folder)")
    }
}
